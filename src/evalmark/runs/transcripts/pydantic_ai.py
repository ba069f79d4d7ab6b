"""Runs of pydantic-ai's agents."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from evalmark.core.values.case import Output, Turn

from .contents import kept, listed, one_line, part, result_of, text_of, word
from .joining import Answered, Asked, Event, Settled, Thought, moment, output_of, without_answers
from .tokens import added, sure

_SAID = {"system-prompt": "system", "user-prompt": "user", "text": "assistant", "file": "assistant", "speech": ""}
"""Whose words a part of a message holds; of one that was spoken, the part says it."""


def from_pydantic_ai(result: Any) -> Output:
    """An output out of the result of `agent.run`, or a list of messages.

    Only what this run added counts: messages that it was handed as history are left out. A call starts when the model's
    response was there and ends when its tool had returned. What pydantic-ai counts as 0 tokens is not known: it writes
    0 for what nobody told it. Foreign data never raises.
    """
    messages = _messages(result)
    events = _conversation(messages)
    if isinstance(result, (list, tuple)):
        return output_of(events, usage=added(sure(part(message, "usage")) for message in messages))
    form = part(result, "_output_tool_name")  # how the model was made to give the structured answer; None for text
    usage = part(result, "usage")
    return output_of(
        (*without_answers(events, {form}), Settled(kept(part(result, "output")))),
        usage=sure(usage) if part(usage, "input_tokens") is not None else sure(_called(result, "usage")),
    )


def _messages(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [*result]
    found = _called(result, "new_messages")
    return [*listed(_called(result, "all_messages") if found is None else found)]


def _called(result: Any, method: str) -> Any:
    found = part(result, method)
    return found() if callable(found) else None


def _conversation(messages: list[Any]) -> Iterator[Event]:
    told = None
    for message in messages:
        instructions = part(message, "instructions")
        if isinstance(instructions, str) and instructions.strip() and instructions != told:
            told = instructions
            yield Turn(role="system", content=instructions)
        at = moment(part(message, "timestamp"))
        for piece in listed(part(message, "parts")):
            yield from _events(piece, at)


def _events(piece: Any, at: datetime | None) -> Iterator[Event]:
    """What one part of a message says; `at` is when its message was there."""
    kind, content = word(part(piece, "part_kind")), part(piece, "content")
    if kind.endswith("tool-call"):
        yield Asked(name=_name(piece), arguments=part(piece, "args"), id=_id(piece), at=at)
    elif kind.endswith("tool-return") or (kind == "retry-prompt" and word(part(piece, "tool_name"))):
        yield _returned(piece, kind)
    elif kind == "thinking":
        yield from (Thought(text) for text in (content,) if isinstance(text, str) and text.strip())
    elif kind in ("retry-feedback", "retry-prompt"):
        yield Turn(role="user", content=_why(content))
    elif kind in _SAID:
        yield from _said(_SAID[kind] or word(part(piece, "speaker")), "[file]" if kind == "file" else content)


def _said(role: str, content: Any) -> Iterator[Turn]:
    text = text_of(content)
    if role != "assistant" or (text.strip() if isinstance(text, str) else text):
        yield Turn(role=role, content=text)


def _returned(piece: Any, kind: str) -> Answered:
    content, at = part(piece, "content"), moment(part(piece, "timestamp"))
    if kind == "retry-prompt" or word(part(piece, "outcome")) not in ("", "success"):
        return Answered(id=_id(piece), name=_name(piece), error=_why(content) or word(part(piece, "outcome")), at=at)
    return Answered(id=_id(piece), name=_name(piece), result=result_of(content), at=at)


def _why(content: Any) -> str:
    """Why a call or an answer was not taken: a text, or pydantic's list of faults."""
    faults = [fault for fault in listed(content) if isinstance(fault, Mapping) and isinstance(fault.get("msg"), str)]
    if not faults or len(faults) != len(listed(content)):
        return one_line(text_of(content) if isinstance(content, str) else content)
    places = (".".join(map(str, listed(fault.get("loc")))) for fault in faults)
    said = (f"{place}: {fault['msg']}" if place else fault["msg"] for place, fault in zip(places, faults, strict=True))
    return one_line("; ".join(said))


def _name(piece: Any) -> str:
    return word(part(piece, "tool_name")) or "unnamed"


def _id(piece: Any) -> str:
    return word(part(piece, "tool_call_id"))
