"""Conversations of OpenAI's APIs: chat messages, items of the Responses API, and whole responses."""

from collections.abc import Iterator, Mapping
from typing import Any

from evalmark.core.values.case import Output, Turn

from .contents import (
    as_list,
    as_name,
    as_plain,
    first_field,
    get_field,
    message_text,
    one_line,
    reasoning_texts,
    tool_result,
)
from .events import CallEvent, Event, ReasoningEvent, ResultEvent, ValueEvent, build_output
from .tokens import token_usage, total_usage

ROLES = {"developer": "system", "human": "user", "ai": "assistant", "model": "assistant"}
"""Other names of the roles in a transcript."""
_RESULTS = ("output", "outputs", "results", "result")
_NO_ARGUMENTS = frozenset(
    ("type", "id", "call_id", "status", "name", "namespace", "server_label", "caller", "error", "created_by", *_RESULTS)
)
"""Fields of a hosted tool call that are not arguments."""


def from_openai(messages: Any) -> Output:
    """Convert a message, item or response of OpenAI's APIs, or a list of these, to an output.

    Messages are mappings or SDK objects. Results of tools are joined to their calls. The value is the parsed structured
    output, or else the last text of the assistant. Token counts are sums over whole responses. Never raises on foreign
    data: unreadable parts are left out.

    Args:
        messages: A message, item or response, or a list of these.

    Returns:
        The output with its transcript, tool calls and token counts.

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
    parts = (messages,) if isinstance(messages, (str, Mapping)) or not _is_many(messages) else messages
    events: list[Event] = []
    usages = []
    failed: str | None = None
    for part in parts:
        items = _response_items(part)
        if items is None:
            events += item_events(part)
            continue
        usages.append(token_usage(get_field(part, "usage")))
        failed = _response_error(part)
        for item in items:
            events += item_events(item)
    return build_output(events, usage=total_usage(usages), error=failed)


def _is_many(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (hasattr(value, "__iter__") and not hasattr(value, "model_dump"))


def _response_items(value: Any) -> list[Any] | None:
    """Return the items of a whole response, or None if it is not a response."""
    choices, output = get_field(value, "choices"), get_field(value, "output")
    if isinstance(choices, (list, tuple)):
        return [get_field(choice, "message") for choice in choices[:1]]
    is_response = (
        isinstance(output, (list, tuple)) and get_field(value, "type") is None and get_field(value, "role") is None
    )
    return [*output] if is_response else None


def _response_error(response: Any) -> str | None:
    """Return the error of a failed response of the Responses API."""
    if as_name(get_field(response, "status")) != "failed":
        return None
    error = get_field(response, "error")
    return "the response failed" if error is None else _error_text(error)


def _error_text(error: Any) -> str:
    """Return the text of an error: a text, or an object with a message or message parts."""
    message = error if isinstance(error, str) else first_field(error, "message", "content")
    return one_line(error if message is None else tool_result(message)) or "failed"


def item_events(item: Any) -> Iterator[Event]:
    """Yield the events of a message or an item."""
    kind, role = as_name(get_field(item, "type")), get_field(item, "role")
    if isinstance(item, str):
        yield Turn(role="user", content=item)
    elif isinstance(role, str) or kind == "message":
        yield from _message_events(item, role if isinstance(role, str) else "assistant")
    elif kind == "reasoning":
        yield from map(ReasoningEvent, reasoning_texts(item))
    elif kind.endswith("_output"):
        yield ResultEvent(
            id=_id(item), name=as_name(get_field(item, "name")), result=tool_result(get_field(item, "output"))
        )
    elif kind.endswith("_call"):
        yield from _item_call(item, kind)
    elif isinstance(text := first_field(item, "content", "text"), str) and text.strip():
        yield Turn(role=kind or "unknown", content=text)


def _message_events(message: Any, role: str) -> Iterator[Event]:
    content = get_field(message, "content")
    if role in ("tool", "function"):
        yield ResultEvent(id=_id(message), name=as_name(get_field(message, "name")), result=tool_result(content))
        return
    role = ROLES.get(role, role)
    text = message_text(content) or as_name(get_field(message, "refusal"))
    thoughts = first_field(message, "reasoning_content", "reasoning")
    yield from map(
        ReasoningEvent, (thoughts,) if isinstance(thoughts, str) and thoughts.strip() else reasoning_texts(content)
    )
    if role != "assistant" or (text.strip() if isinstance(text, str) else text):
        yield Turn(role=role, content=text)
    yield from _parsed_events(message, content)
    for call in (*as_list(get_field(message, "tool_calls")), get_field(message, "function_call")):
        if (event := call_event(call)) is not None:
            yield event


def _parsed_events(message: Any, content: Any) -> Iterator[Event]:
    """Yield the structured output that the SDK parsed."""
    for holder in (message, *(item for item in as_list(content) if not isinstance(item, str))):
        if (value := get_field(holder, "parsed")) is not None:
            yield ValueEvent(as_plain(value))


def call_event(call: Any) -> CallEvent | None:
    """Convert a call of a chat message, or return None.

    >>> call_event({"id": "1", "function": {"name": "weather", "arguments": "{}"}}).name
    'weather'
    """
    if call is None or isinstance(call, (str, int, float, bytes, list, tuple)):
        return None
    function = first_field(call, "function", "custom")
    function = call if function is None or isinstance(function, str) else function
    name, id_ = as_name(get_field(function, "name")), _id(call)
    arguments = _call_input(function)
    if not (name or id_) and arguments is None:
        return None
    return CallEvent(name=name or "unnamed", arguments=arguments, id=id_)


def _call_input(function: Any) -> Any:
    """Return the arguments of a call, or the text input of a custom tool."""
    arguments = first_field(function, "arguments", "args")
    text_input = get_field(function, "input") if arguments is None else None
    return (
        arguments
        if text_input is None
        else text_input
        if isinstance(text_input, Mapping)
        else {"input": as_plain(text_input)}
    )


def _id(item: Any) -> str:
    """Return the id that joins a call and its output; items of the Responses API also have an id of their own."""
    return as_name(first_field(item, "tool_call_id", "call_id", "id"))


def _item_call(item: Any, kind: str) -> Iterator[Event]:
    """Convert a call of the Responses API; calls of hosted tools include their result."""
    arguments = _call_input(item)
    if arguments is None and kind not in ("function_call", "custom_tool_call"):
        plain_item = as_plain(item)
        fields = plain_item.items() if isinstance(plain_item, dict) else ()
        arguments = {name: value for name, value in fields if value is not None and name not in _NO_ARGUMENTS}
    name = as_name(get_field(item, "name")) or ("unnamed" if kind == "function_call" else kind.removesuffix("_call"))
    yield CallEvent(name=name, arguments=arguments, id=_id(item), result=_hosted_result(item, kind))


def _hosted_result(item: Any, kind: str) -> ResultEvent | None:
    result, error = first_field(item, *_RESULTS), get_field(item, "error")
    if error is None and as_name(get_field(item, "status")) == "failed":
        error = "failed"
    if error is not None:
        return ResultEvent(error=_error_text(error))
    if result is None:
        return None
    return ResultEvent(result="[image]" if kind == "image_generation_call" else tool_result(result))
