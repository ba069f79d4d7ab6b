"""Messages of LangChain, the state of LangGraph's agents, and what an AgentExecutor gives."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalmark.core.values.case import Output, Turn

from .contents import kept, listed, one_line, part, result_of, text_of, thoughts_of, word
from .joining import Answered, Asked, Event, Settled, Thought, output_of, without_answers
from .openai import ROLES, asked_of
from .tokens import added, usage_of

_KEPT = ("response_metadata", "usage_metadata")


def from_langchain(given: Any) -> Output:
    """An output out of one message, a list of messages, an agent's state, or what an AgentExecutor gives.

    A state is a mapping with `messages`: its `structured_response`, where it has one, is the value, and its other
    entries are kept as `metadata["state"]`. Messages of earlier turns count as the others do; slice the list to leave
    them out. Foreign data never raises.
    """
    if is_graph_output(given):
        given = part(given, "value")
    if isinstance(given, Mapping):
        return _of_steps(given) if "intermediate_steps" in given else _of_state(given)
    if is_message(given):
        return _of_message(given)
    return _of_messages(listed(given))


def is_message(thing: Any) -> bool:
    """Whether this looks like a message of LangChain, or a chunk of one."""
    return isinstance(getattr(thing, "content", None), (str, list)) and hasattr(thing, "response_metadata")


def is_graph_output(thing: Any) -> bool:
    """Whether a compiled graph gave it that was asked for its `version="v2"`."""
    return type(thing).__name__ == "GraphOutput" and type(thing).__module__.partition(".")[0] == "langgraph"


def _of_message(message: Any) -> Output:
    metadata = {name: value for name in _KEPT if isinstance(value := part(message, name), Mapping) and value}
    output = _of_messages((message,))
    content = part(message, "content")
    if isinstance(content, str):  # an empty answer is one; only a conversation looks further
        output = replace(output, value=content)
    return replace(output, metadata={**output.metadata, **metadata})


def _of_state(state: Mapping[str, Any]) -> Output:
    others = {str(k): kept(v) for k, v in state.items() if k not in ("messages", "structured_response")}
    output = _of_messages(listed(state.get("messages")), state.get("structured_response"))
    return replace(output, metadata={**output.metadata, "state": others}) if others else output


def _of_messages(messages: Iterable[Any], answer: Any = None) -> Output:
    events = (event for message in messages for event in _events(message))
    usage = added(usage_of(part(message, "usage_metadata")) for message in messages)
    if answer is None:
        return output_of(events, usage=usage)
    form = type(answer).__name__  # an agent may be told to answer by calling a tool that is called like the class
    return output_of((*without_answers(events, {form}), Settled(kept(answer))), usage=usage)


def _events(message: Any) -> Iterator[Event]:
    if isinstance(message, (list, tuple)) and len(message) == 2:  # ("user", "hello")
        message = {"role": message[0], "content": message[1]}
    role, content = _role(message), part(message, "content")
    if role in ("tool", "function"):
        yield _returned(message)
    elif role != "remove":
        text = text_of(content)
        yield from map(Thought, thoughts_of(content))
        if (text.strip() if isinstance(text, str) else text) or (role != "assistant" and content is not None):
            yield Turn(role=role, content=text)
        yield from _calls(message)


def _role(message: Any) -> str:
    """`user`, `assistant`, `system`, `tool`: by the type of a message, else by its role."""
    kind = word(part(message, "type")).removesuffix("MessageChunk").lower()
    if kind in ("", "chat"):
        kind = word(part(message, "role")) or "assistant"
    return ROLES.get(kind, kind)


def _returned(message: Any) -> Answered:
    id_, name, content = word(part(message, "tool_call_id")), word(part(message, "name")), part(message, "content")
    if word(part(message, "status")) == "error":
        return Answered(id=id_, name=name, error=one_line(text_of(content)) or "error")
    return Answered(id=id_, name=name, result=result_of(content))


def _calls(message: Any) -> Iterator[Asked]:
    for call in listed(part(message, "tool_calls")):
        if (asked := asked_of(call)) is not None:
            yield asked
    for call in listed(part(message, "invalid_tool_calls")):
        if (asked := asked_of(call)) is not None:
            error = part(call, "error")
            yield replace(asked, error=None if error is None else one_line(error))


def _of_steps(given: Mapping[str, Any]) -> Output:
    """Pairs of an action and what was observed, in the order they were taken."""
    events: list[Event] = []
    if isinstance(asked := given.get("input"), str):
        events.append(Turn(role="user", content=asked))
    for step in listed(given.get("intermediate_steps")):
        action, seen = step if isinstance(step, (list, tuple)) and len(step) == 2 else (step, None)
        events.append(_step(action, Answered(result=result_of(seen))))
    answer = kept(given.get("output"))
    if answer is not None:
        events += (Turn(role="assistant", content=answer), Settled(answer))
    return output_of(events)


def _step(action: Any, answer: Answered) -> Asked:
    taken = part(action, "tool_input")
    return Asked(
        name=word(part(action, "tool")) or "unnamed",
        arguments=taken if taken is None or isinstance(taken, Mapping) else {"input": kept(taken)},
        id=word(part(action, "tool_call_id")),
        answer=answer,
    )
