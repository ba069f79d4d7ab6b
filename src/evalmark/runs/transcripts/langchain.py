"""Messages of LangChain, states of LangGraph agents, and results of an AgentExecutor."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalmark.core.values.case import Output, Turn

from .contents import as_list, as_name, as_plain, get_field, message_text, one_line, reasoning_texts, tool_result
from .events import CallEvent, Event, ReasoningEvent, ResultEvent, ValueEvent, build_output, without_output_tools
from .openai import ROLES, call_event
from .tokens import token_usage, total_usage

_METADATA = ("response_metadata", "usage_metadata")


def from_langchain(result: Any) -> Output:
    """Convert a message, a list of messages, an agent's state, or a result of an AgentExecutor to an output.

    A state is a mapping with `messages`. Its `structured_response` becomes the value, and its other entries become
    `metadata["state"]`. Messages of earlier turns are included; slice the list to leave them out. Never raises on
    foreign data.

    Args:
        result: What the chain, graph or agent returned.

    Returns:
        The output with its transcript, tool calls and token counts.

    >>> state = {"messages": [("user", "2 + 2?"), ("assistant", "4")]}
    >>> from_langchain(state).value
    '4'
    """
    if is_graph_output(result):
        result = get_field(result, "value")
    if isinstance(result, Mapping):
        return _steps_output(result) if "intermediate_steps" in result else _state_output(result)
    if is_message(result):
        return _message_output(result)
    return _messages_output(as_list(result))


def is_message(value: Any) -> bool:
    """Return whether the object looks like a LangChain message or chunk."""
    return isinstance(getattr(value, "content", None), (str, list)) and hasattr(value, "response_metadata")


def is_graph_output(value: Any) -> bool:
    """Return whether the object is a `GraphOutput`, which compiled graphs return with `version="v2"`."""
    return type(value).__name__ == "GraphOutput" and type(value).__module__.partition(".")[0] == "langgraph"


def _message_output(message: Any) -> Output:
    metadata = {name: value for name in _METADATA if isinstance(value := get_field(message, name), Mapping) and value}
    output = _messages_output((message,))
    content = get_field(message, "content")
    if isinstance(content, str):  # an empty text is the value of a single message
        output = replace(output, value=content)
    return replace(output, metadata={**output.metadata, **metadata})


def _state_output(state: Mapping[str, Any]) -> Output:
    others = {str(k): as_plain(v) for k, v in state.items() if k not in ("messages", "structured_response")}
    output = _messages_output(as_list(state.get("messages")), state.get("structured_response"))
    return replace(output, metadata={**output.metadata, "state": others}) if others else output


def _messages_output(messages: Iterable[Any], answer: Any = None) -> Output:
    events = (event for message in messages for event in _message_events(message))
    usage = total_usage(token_usage(get_field(message, "usage_metadata")) for message in messages)
    if answer is None:
        return build_output(events, usage=usage)
    form = type(answer).__name__  # agents may return structured output by calling a tool with the name of the class
    return build_output((*without_output_tools(events, {form}), ValueEvent(as_plain(answer))), usage=usage)


def _message_events(message: Any) -> Iterator[Event]:
    if isinstance(message, (list, tuple)) and len(message) == 2:  # ("user", "hello")
        message = {"role": message[0], "content": message[1]}
    role, content = _role(message), get_field(message, "content")
    if role in ("tool", "function"):
        yield _result_event(message)
    elif role != "remove":
        text = message_text(content)
        yield from map(ReasoningEvent, reasoning_texts(content))
        if (text.strip() if isinstance(text, str) else text) or (role != "assistant" and content is not None):
            yield Turn(role=role, content=text)
        yield from _calls(message)


def _role(message: Any) -> str:
    """Return the role of a message (`user`, `assistant`, `system`, `tool`) from its type or role."""
    kind = as_name(get_field(message, "type")).removesuffix("MessageChunk").lower()
    if kind in ("", "chat"):
        kind = as_name(get_field(message, "role")) or "assistant"
    return ROLES.get(kind, kind)


def _result_event(message: Any) -> ResultEvent:
    id_, name, content = (
        as_name(get_field(message, "tool_call_id")),
        as_name(get_field(message, "name")),
        get_field(message, "content"),
    )
    if as_name(get_field(message, "status")) == "error":
        return ResultEvent(id=id_, name=name, error=one_line(message_text(content)) or "error")
    return ResultEvent(id=id_, name=name, result=tool_result(content))


def _calls(message: Any) -> Iterator[CallEvent]:
    for call in as_list(get_field(message, "tool_calls")):
        if (event := call_event(call)) is not None:
            yield event
    for call in as_list(get_field(message, "invalid_tool_calls")):
        if (event := call_event(call)) is not None:
            error = get_field(call, "error")
            yield replace(event, error=None if error is None else one_line(error))


def _steps_output(result: Mapping[str, Any]) -> Output:
    """Convert the steps of an AgentExecutor: pairs of an action and an observation."""
    events: list[Event] = []
    if isinstance(question := result.get("input"), str):
        events.append(Turn(role="user", content=question))
    for step in as_list(result.get("intermediate_steps")):
        action, observation = step if isinstance(step, (list, tuple)) and len(step) == 2 else (step, None)
        events.append(_step(action, ResultEvent(result=tool_result(observation))))
    answer = as_plain(result.get("output"))
    if answer is not None:
        events += (Turn(role="assistant", content=answer), ValueEvent(answer))
    return build_output(events)


def _step(action: Any, answer: ResultEvent) -> CallEvent:
    tool_input = get_field(action, "tool_input")
    return CallEvent(
        name=as_name(get_field(action, "tool")) or "unnamed",
        arguments=tool_input
        if tool_input is None or isinstance(tool_input, Mapping)
        else {"input": as_plain(tool_input)},
        id=as_name(get_field(action, "tool_call_id")),
        result=answer,
    )
