"""Results of pydantic-ai agents."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from evalmark.core.values.case import Output, Turn

from .contents import as_list, as_name, as_plain, get_field, message_text, one_line, tool_result
from .events import (
    CallEvent,
    Event,
    ReasoningEvent,
    ResultEvent,
    ValueEvent,
    build_output,
    parse_time,
    without_output_tools,
)
from .tokens import nonzero_usage, total_usage

_ROLES = {"system-prompt": "system", "user-prompt": "user", "text": "assistant", "file": "assistant", "speech": ""}
"""The role of each kind of message part; a speech part names its speaker."""


def from_pydantic_ai(result: Any) -> Output:
    """Convert the result of `agent.run`, or a list of messages, to an output.

    Messages of the history are left out. A call starts with the model's response and ends with the result of its tool.
    Token counts of 0 are unknown, since pydantic-ai writes 0 for missing counts. Never raises on foreign data.

    Args:
        result: The result of `agent.run`, or its messages.

    Returns:
        The output with its transcript, tool calls and token counts.

    Example:
        A task that runs an agent::

            async def answer(question):
                return from_pydantic_ai(await agent.run(question))
    """
    messages = _messages(result)
    events = _conversation(messages)
    if isinstance(result, (list, tuple)):
        return build_output(
            events, usage=total_usage(nonzero_usage(get_field(message, "usage")) for message in messages)
        )
    form = get_field(result, "_output_tool_name")  # the tool for structured output; None for text
    usage = get_field(result, "usage")
    return build_output(
        (*without_output_tools(events, {form}), ValueEvent(as_plain(get_field(result, "output")))),
        usage=nonzero_usage(usage)
        if get_field(usage, "input_tokens") is not None
        else nonzero_usage(_call_method(result, "usage")),
    )


def _messages(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [*result]
    found = _call_method(result, "new_messages")
    return [*as_list(_call_method(result, "all_messages") if found is None else found)]


def _call_method(result: Any, method: str) -> Any:
    found = get_field(result, method)
    return found() if callable(found) else None


def _conversation(messages: list[Any]) -> Iterator[Event]:
    last_instructions = None
    for message in messages:
        instructions = get_field(message, "instructions")
        if isinstance(instructions, str) and instructions.strip() and instructions != last_instructions:
            last_instructions = instructions
            yield Turn(role="system", content=instructions)
        at = parse_time(get_field(message, "timestamp"))
        for piece in as_list(get_field(message, "parts")):
            yield from _events(piece, at)


def _events(piece: Any, at: datetime | None) -> Iterator[Event]:
    """Yield the events of a message part; `at` is the time of the message."""
    kind, content = as_name(get_field(piece, "part_kind")), get_field(piece, "content")
    if kind.endswith("tool-call"):
        yield CallEvent(name=_name(piece), arguments=get_field(piece, "args"), id=_id(piece), at=at)
    elif kind.endswith("tool-return") or (kind == "retry-prompt" and as_name(get_field(piece, "tool_name"))):
        yield _result_event(piece, kind)
    elif kind == "thinking":
        yield from (ReasoningEvent(text) for text in (content,) if isinstance(text, str) and text.strip())
    elif kind in ("retry-feedback", "retry-prompt"):
        yield Turn(role="user", content=_rejection_text(content))
    elif kind in _ROLES:
        yield from _turns(_ROLES[kind] or as_name(get_field(piece, "speaker")), "[file]" if kind == "file" else content)


def _turns(role: str, content: Any) -> Iterator[Turn]:
    text = message_text(content)
    if role != "assistant" or (text.strip() if isinstance(text, str) else text):
        yield Turn(role=role, content=text)


def _result_event(piece: Any, kind: str) -> ResultEvent:
    content, at = get_field(piece, "content"), parse_time(get_field(piece, "timestamp"))
    if kind == "retry-prompt" or as_name(get_field(piece, "outcome")) not in ("", "success"):
        return ResultEvent(
            id=_id(piece),
            name=_name(piece),
            error=_rejection_text(content) or as_name(get_field(piece, "outcome")),
            at=at,
        )
    return ResultEvent(id=_id(piece), name=_name(piece), result=tool_result(content), at=at)


def _rejection_text(content: Any) -> str:
    """Return why a call or an output was rejected: a text, or pydantic's list of errors."""
    faults = [fault for fault in as_list(content) if isinstance(fault, Mapping) and isinstance(fault.get("msg"), str)]
    if not faults or len(faults) != len(as_list(content)):
        return one_line(message_text(content) if isinstance(content, str) else content)
    locations = (".".join(map(str, as_list(fault.get("loc")))) for fault in faults)
    messages = (
        f"{location}: {fault['msg']}" if location else fault["msg"]
        for location, fault in zip(locations, faults, strict=True)
    )
    return one_line("; ".join(messages))


def _name(piece: Any) -> str:
    return as_name(get_field(piece, "tool_name")) or "unnamed"


def _id(piece: Any) -> str:
    return as_name(get_field(piece, "tool_call_id"))
