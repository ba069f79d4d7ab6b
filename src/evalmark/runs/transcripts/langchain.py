"""Messages of LangChain, the state of LangGraph's agents, and what an AgentExecutor gives."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalmark.core.values.case import Output, Turn

from .contents import as_list, as_name, as_plain, get_field, message_text, one_line, reasoning_texts, tool_result
from .events import CallEvent, Event, ReasoningEvent, ResultEvent, ValueEvent, build_output, without_output_tools
from .openai import ROLES, call_event
from .tokens import token_usage, total_usage

_METADATA = ("response_metadata", "usage_metadata")


def from_langchain(given: Any) -> Output:
    """An output out of one message, a list of messages, an agent's state, or what an AgentExecutor gives.

    A state is a mapping with `messages`: its `structured_response`, where it has one, is the value, and its other
    entries are kept as `metadata["state"]`. Messages of earlier turns count as the others do; slice the list to leave
    them out. Foreign data never raises.
    """
    if is_graph_output(given):
        given = get_field(given, "value")
    if isinstance(given, Mapping):
        return _of_steps(given) if "intermediate_steps" in given else _of_state(given)
    if is_message(given):
        return _of_message(given)
    return _of_messages(as_list(given))


def is_message(thing: Any) -> bool:
    """Whether this looks like a message of LangChain, or a chunk of one."""
    return isinstance(getattr(thing, "content", None), (str, list)) and hasattr(thing, "response_metadata")


def is_graph_output(thing: Any) -> bool:
    """Whether a compiled graph gave it that was asked for its `version="v2"`."""
    return type(thing).__name__ == "GraphOutput" and type(thing).__module__.partition(".")[0] == "langgraph"


def _of_message(message: Any) -> Output:
    metadata = {name: value for name in _METADATA if isinstance(value := get_field(message, name), Mapping) and value}
    output = _of_messages((message,))
    content = get_field(message, "content")
    if isinstance(content, str):  # an empty answer is one; only a conversation looks further
        output = replace(output, value=content)
    return replace(output, metadata={**output.metadata, **metadata})


def _of_state(state: Mapping[str, Any]) -> Output:
    others = {str(k): as_plain(v) for k, v in state.items() if k not in ("messages", "structured_response")}
    output = _of_messages(as_list(state.get("messages")), state.get("structured_response"))
    return replace(output, metadata={**output.metadata, "state": others}) if others else output


def _of_messages(messages: Iterable[Any], answer: Any = None) -> Output:
    events = (event for message in messages for event in _events(message))
    usage = total_usage(token_usage(get_field(message, "usage_metadata")) for message in messages)
    if answer is None:
        return build_output(events, usage=usage)
    form = type(answer).__name__  # an agent may be told to answer by calling a tool that is called like the class
    return build_output((*without_output_tools(events, {form}), ValueEvent(as_plain(answer))), usage=usage)


def _events(message: Any) -> Iterator[Event]:
    if isinstance(message, (list, tuple)) and len(message) == 2:  # ("user", "hello")
        message = {"role": message[0], "content": message[1]}
    role, content = _role(message), get_field(message, "content")
    if role in ("tool", "function"):
        yield _returned(message)
    elif role != "remove":
        text = message_text(content)
        yield from map(ReasoningEvent, reasoning_texts(content))
        if (text.strip() if isinstance(text, str) else text) or (role != "assistant" and content is not None):
            yield Turn(role=role, content=text)
        yield from _calls(message)


def _role(message: Any) -> str:
    """`user`, `assistant`, `system`, `tool`: by the type of a message, else by its role."""
    kind = as_name(get_field(message, "type")).removesuffix("MessageChunk").lower()
    if kind in ("", "chat"):
        kind = as_name(get_field(message, "role")) or "assistant"
    return ROLES.get(kind, kind)


def _returned(message: Any) -> ResultEvent:
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
        if (asked := call_event(call)) is not None:
            yield asked
    for call in as_list(get_field(message, "invalid_tool_calls")):
        if (asked := call_event(call)) is not None:
            error = get_field(call, "error")
            yield replace(asked, error=None if error is None else one_line(error))


def _of_steps(given: Mapping[str, Any]) -> Output:
    """Pairs of an action and what was observed, in the order they were taken."""
    events: list[Event] = []
    if isinstance(asked := given.get("input"), str):
        events.append(Turn(role="user", content=asked))
    for step in as_list(given.get("intermediate_steps")):
        action, seen = step if isinstance(step, (list, tuple)) and len(step) == 2 else (step, None)
        events.append(_step(action, ResultEvent(result=tool_result(seen))))
    answer = as_plain(given.get("output"))
    if answer is not None:
        events += (Turn(role="assistant", content=answer), ValueEvent(answer))
    return build_output(events)


def _step(action: Any, answer: ResultEvent) -> CallEvent:
    taken = get_field(action, "tool_input")
    return CallEvent(
        name=as_name(get_field(action, "tool")) or "unnamed",
        arguments=taken if taken is None or isinstance(taken, Mapping) else {"input": as_plain(taken)},
        id=as_name(get_field(action, "tool_call_id")),
        answer=answer,
    )
