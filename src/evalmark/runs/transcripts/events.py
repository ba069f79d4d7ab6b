"""Calls and what came back of them, joined; and the output that a conversation comes to."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from evalmark.core.values.case import Output, ToolCall, Turn
from evalmark.core.values.usage import Usage

from .contents import call_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultEvent:
    """A tool gave something back."""

    id: str = ""
    name: str = ""
    result: Any = None
    error: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent:
    """A model asked for a tool."""

    name: str
    arguments: Any = None
    """A mapping, or the JSON text of one."""
    id: str = ""
    at: datetime | None = None
    error: str | None = None
    answer: ResultEvent | None = None
    """What came back, where the call itself tells it."""


@dataclass(frozen=True, slots=True)
class ReasoningEvent:
    """A model reasoned; this is no part of what it said."""

    text: str


@dataclass(frozen=True, slots=True)
class ValueEvent:
    """A structured answer."""

    value: Any


Event = Turn | CallEvent | ResultEvent | ReasoningEvent | ValueEvent


def build_output(events: Iterable[Event], *, usage: Usage | None = None, error: str | None = None) -> Output:
    """The output of a conversation: its value is the last structured answer, else the last text of the assistant.

    Reasoning is metadata.
    """
    events = tuple(events)
    transcript = build_transcript(events)
    values = [event.value for event in events if isinstance(event, ValueEvent)]
    thoughts = "\n\n".join(event.text for event in events if isinstance(event, ReasoningEvent))
    return Output(
        value=values[-1] if values else last_assistant_text(transcript),
        error=error,
        transcript=transcript,
        usage=usage,
        metadata={"reasoning": thoughts} if thoughts else {},
    )


def last_assistant_text(transcript: Sequence[Turn | ToolCall]) -> Any:
    """The last text of the assistant that is not blank; None where there is none."""
    said = (e.content for e in reversed(transcript) if isinstance(e, Turn) and e.role == "assistant")
    return next((content for content in said if content and not (isinstance(content, str) and content.isspace())), None)


def without_output_tools(events: Iterable[Event], names: Collection[str]) -> Iterator[Event]:
    """The events, where tools of these names are no tools but the form in which a structured answer is given."""
    for event in events:
        if isinstance(event, CallEvent) and event.name in names:
            yield Turn(role="assistant", content=call_arguments(event.arguments))
        elif not isinstance(event, ResultEvent) or event.name not in names:
            yield event
        elif event.error is not None:  # the answer was not taken, and the model was told why
            yield Turn(role="tool", content=event.error)


def build_transcript(events: Iterable[Event]) -> tuple[Turn | ToolCall, ...]:
    """The transcript: each call where it was made, with the first thing that came back for its id.

    What came back without an id, or with one that no call has, goes to the first call that waits for something and
    that it may belong to. What belongs to no call stays, as a message of a tool.
    """
    found: list[Turn | ToolCall] = []
    waiting: list[tuple[int, CallEvent]] = []
    ids: set[str] = set()
    for event in events:
        if isinstance(event, Turn):
            found.append(event)
        elif isinstance(event, CallEvent):
            if event.answer is None:
                waiting.append((len(found), event))
            ids.add(event.id)
            found.append(_call(event) if event.answer is None else _finished_call(event, event.answer))
        elif isinstance(event, ResultEvent):
            waiter = _matching_call(waiting, event, is_known=bool(event.id) and event.id in ids)
            if waiter is not None:
                waiting.remove(waiter)
                at, asked = waiter
                found[at] = _finished_call(asked, event)
            elif not event.id or event.id not in ids:
                found.append(Turn(role="tool", content=event.result if event.error is None else event.error))
    return tuple(found)


def _matching_call(
    waiting: Sequence[tuple[int, CallEvent]], event: ResultEvent, *, is_known: bool
) -> tuple[int, CallEvent] | None:
    """The call that an answer is for."""
    if is_known:
        return next((waiter for waiter in waiting if waiter[1].id == event.id), None)
    fitting = (w for w in waiting if not (event.id and w[1].id) and event.name in ("", w[1].name))
    return next(fitting, None)


def _call(asked: CallEvent) -> ToolCall:
    started = None if asked.at is None else asked.at.isoformat()
    return ToolCall(
        name=asked.name, arguments=call_arguments(asked.arguments), id=asked.id, error=asked.error, started=started
    )


def _finished_call(asked: CallEvent, answered: ResultEvent) -> ToolCall:
    taken = None if asked.at is None or answered.at is None else (answered.at - asked.at).total_seconds()
    return replace(
        _call(asked),
        result=answered.result,
        error=asked.error if answered.error is None else answered.error,
        seconds=taken if taken is not None and taken >= 0 else None,
    )


def parse_time(value: Any) -> datetime | None:
    """A time in UTC, out of a datetime or its ISO 8601 text; None for all else. One without a zone is UTC.

    >>> moment("2026-05-01T12:00:00+02:00"), moment("soon")
    (datetime.datetime(2026, 5, 1, 10, 0, tzinfo=datetime.timezone.utc), None)
    """
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(found, datetime):
            return None
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
