"""Conversations in OpenAI's forms: messages of chat completions, items of the Responses API, and whole responses."""

from collections.abc import Iterator, Mapping
from typing import Any

from evalmark.core.values.case import Output, Turn

from .contents import first, kept, listed, one_line, part, result_of, text_of, thoughts_of, word
from .joining import Answered, Asked, Event, Settled, Thought, output_of
from .tokens import added, usage_of

ROLES = {"developer": "system", "human": "user", "ai": "assistant", "model": "assistant"}
"""Other words for the roles that a transcript has."""
_RESULTS = ("output", "outputs", "results", "result")
_NO_ARGUMENTS = frozenset(
    ("type", "id", "call_id", "status", "name", "namespace", "server_label", "caller", "error", "created_by", *_RESULTS)
)
"""Fields of a hosted tool's call that are not what it was called with."""


def from_openai(messages: Any) -> Output:
    """An output out of a conversation as OpenAI's models hold it: one message, item or response, or a list of these.

    Messages are mappings or objects of the SDK. The replies of tools are joined to their calls; the value is the
    structured answer if one was parsed, else the last text of the assistant. Token counts are the sums over whole
    responses, which alone bring them. Foreign data never raises: what cannot be read is left out.

    >>> call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    >>> output = from_openai([
    ...     {"role": "user", "content": "The weather in Oslo?"},
    ...     {"role": "assistant", "content": None, "tool_calls": [call]},
    ...     {"role": "tool", "tool_call_id": "1", "content": "3 degrees"},
    ...     {"role": "assistant", "content": "It is cold."},
    ... ])
    >>> output.value, output.tool_calls[0].arguments, output.tool_calls[0].result
    ('It is cold.', {'city': 'Oslo'}, '3 degrees')
    """
    things = (messages,) if isinstance(messages, (str, Mapping)) or not _is_many(messages) else messages
    events: list[Event] = []
    usages = []
    failed: str | None = None
    for thing in things:
        held = _whole(thing)
        if held is None:
            events += item_events(thing)
            continue
        usages.append(usage_of(part(thing, "usage")))
        failed = _failed(thing)
        for item in held:
            events += item_events(item)
    return output_of(events, usage=added(usages), error=failed)


def _is_many(thing: Any) -> bool:
    return isinstance(thing, (list, tuple)) or (hasattr(thing, "__iter__") and not hasattr(thing, "model_dump"))


def _whole(thing: Any) -> list[Any] | None:
    """What a whole response holds; None where it is none."""
    choices, output = part(thing, "choices"), part(thing, "output")
    if isinstance(choices, (list, tuple)):
        return [part(choice, "message") for choice in choices[:1]]
    is_response = isinstance(output, (list, tuple)) and part(thing, "type") is None and part(thing, "role") is None
    return [*output] if is_response else None


def _failed(response: Any) -> str | None:
    """What a response of the Responses API says of its failure."""
    if word(part(response, "status")) != "failed":
        return None
    error = part(response, "error")
    return "the response failed" if error is None else _why(error)


def _why(error: Any) -> str:
    """A text, or an object that has a message or, where a tool of a server says it, parts of a message."""
    said = error if isinstance(error, str) else first(error, "message", "content")
    return one_line(error if said is None else result_of(said)) or "failed"


def item_events(item: Any) -> Iterator[Event]:
    """What one message or one item says and does."""
    kind, role = word(part(item, "type")), part(item, "role")
    if isinstance(item, str):
        yield Turn(role="user", content=item)
    elif isinstance(role, str) or kind == "message":
        yield from _message(item, role if isinstance(role, str) else "assistant")
    elif kind == "reasoning":
        yield from map(Thought, thoughts_of(item))
    elif kind.endswith("_output"):
        yield Answered(id=_id(item), name=word(part(item, "name")), result=result_of(part(item, "output")))
    elif kind.endswith("_call"):
        yield from _item_call(item, kind)
    elif isinstance(text := first(item, "content", "text"), str) and text.strip():
        yield Turn(role=kind or "unknown", content=text)


def _message(message: Any, role: str) -> Iterator[Event]:
    content = part(message, "content")
    if role in ("tool", "function"):
        yield Answered(id=_id(message), name=word(part(message, "name")), result=result_of(content))
        return
    role = ROLES.get(role, role)
    text = text_of(content) or word(part(message, "refusal"))
    thoughts = first(message, "reasoning_content", "reasoning")
    yield from map(Thought, (thoughts,) if isinstance(thoughts, str) and thoughts.strip() else thoughts_of(content))
    if role != "assistant" or (text.strip() if isinstance(text, str) else text):
        yield Turn(role=role, content=text)
    yield from _parsed(message, content)
    for call in (*listed(part(message, "tool_calls")), part(message, "function_call")):
        if (asked := asked_of(call)) is not None:
            yield asked


def _parsed(message: Any, content: Any) -> Iterator[Event]:
    """The structured answer, where the SDK was asked to read one."""
    for holder in (message, *(item for item in listed(content) if not isinstance(item, str))):
        if (value := part(holder, "parsed")) is not None:
            yield Settled(kept(value))


def asked_of(call: Any) -> Asked | None:
    """A call as chat messages hold it; None where it is none.

    >>> asked_of({"id": "1", "function": {"name": "weather", "arguments": "{}"}}).name
    'weather'
    """
    if call is None or isinstance(call, (str, int, float, bytes, list, tuple)):
        return None
    held = first(call, "function", "custom")
    held = call if held is None or isinstance(held, str) else held
    name, id_ = word(part(held, "name")), _id(call)
    arguments = _given(held)
    if not (name or id_) and arguments is None:
        return None
    return Asked(name=name or "unnamed", arguments=arguments, id=id_)


def _given(held: Any) -> Any:
    """What a call was given: arguments, or the one text that a custom tool takes."""
    arguments = first(held, "arguments", "args")
    taken = part(held, "input") if arguments is None else None
    return arguments if taken is None else taken if isinstance(taken, Mapping) else {"input": kept(taken)}


def _id(item: Any) -> str:
    """Calls and outputs of the Responses API have an `id` of their own beside the one that joins them."""
    return word(first(item, "tool_call_id", "call_id", "id"))


def _item_call(item: Any, kind: str) -> Iterator[Event]:
    """A call of the Responses API; hosted tools bring their result along."""
    given = _given(item)
    if given is None and kind not in ("function_call", "custom_tool_call"):
        held = kept(item)
        known = held.items() if isinstance(held, dict) else ()
        given = {name: value for name, value in known if value is not None and name not in _NO_ARGUMENTS}
    name = word(part(item, "name")) or ("unnamed" if kind == "function_call" else kind.removesuffix("_call"))
    yield Asked(name=name, arguments=given, id=_id(item), answer=_own_answer(item, kind))


def _own_answer(item: Any, kind: str) -> Answered | None:
    result, error = first(item, *_RESULTS), part(item, "error")
    if error is None and word(part(item, "status")) == "failed":
        error = "failed"
    if error is not None:
        return Answered(error=_why(error))
    if result is None:
        return None
    return Answered(result="[image]" if kind == "image_generation_call" else result_of(result))
