"""Events of a conversation, and their conversion to a transcript and an output."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from evalmark.core.values.case import Output, ToolCall, Turn, Usage

from .contents import call_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultEvent:
    """A tool returned a result or an error."""

    id: str = ""
    name: str = ""
    result: Any = None
    error: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent:
    """A model called a tool."""

    name: str
    arguments: Any = None
    """A mapping, or the JSON text of one."""
    id: str = ""
    at: datetime | None = None
    error: str | None = None
    result: ResultEvent | None = None
    """The result, if the call itself holds it."""


@dataclass(frozen=True, slots=True)
class ReasoningEvent:
    """Reasoning of a model, which is not part of its messages."""

    text: str


@dataclass(frozen=True, slots=True)
class ValueEvent:
    """A structured final value."""

    value: Any


Event = Turn | CallEvent | ResultEvent | ReasoningEvent | ValueEvent


def build_output(events: Iterable[Event], *, usage: Usage | None = None, error: str | None = None) -> Output:
    """Build the output of a conversation.

    The value is the last structured value, or else the last text of the assistant. Reasoning goes to the metadata.
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
    """Return the last text of the assistant that is not blank, or None."""
    said = (e.content for e in reversed(transcript) if isinstance(e, Turn) and e.role == "assistant")
    return next((content for content in said if content and not (isinstance(content, str) and content.isspace())), None)


def without_output_tools(events: Iterable[Event], names: Collection[str]) -> Iterator[Event]:
    """Convert calls of output tools, which frameworks use for structured output, to messages of the assistant."""
    for event in events:
        if isinstance(event, CallEvent) and event.name in names:
            yield Turn(role="assistant", content=call_arguments(event.arguments))
        elif not isinstance(event, ResultEvent) or event.name not in names:
            yield event
        elif event.error is not None:  # the output was rejected, and the model got the reason
            yield Turn(role="tool", content=event.error)


def build_transcript(events: Iterable[Event]) -> tuple[Turn | ToolCall, ...]:
    """Build the transcript: each call at its place, with the first result for its id.

    A result without a known id goes to the first open call that it can belong to. A result that belongs to no call
    becomes a message of a tool.
    """
    found: list[Turn | ToolCall] = []
    waiting: list[tuple[int, CallEvent]] = []
    ids: set[str] = set()
    for event in events:
        if isinstance(event, Turn):
            found.append(event)
        elif isinstance(event, CallEvent):
            if event.result is None:
                waiting.append((len(found), event))
            ids.add(event.id)
            found.append(_call(event) if event.result is None else _finished_call(event, event.result))
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
    """Return the open call that a result belongs to."""
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
    """Convert a datetime or an ISO 8601 text to UTC, or return None. A time without a zone counts as UTC.

    >>> parse_time("2026-05-01T12:00:00+02:00"), parse_time("soon")
    (datetime.datetime(2026, 5, 1, 10, 0, tzinfo=datetime.timezone.utc), None)
    """
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(found, datetime):
            return None
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
