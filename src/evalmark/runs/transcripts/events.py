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
    contents = (e.content for e in reversed(transcript) if isinstance(e, Turn) and e.role == "assistant")
    return next(
        (content for content in contents if content and not (isinstance(content, str) and content.isspace())), None
    )


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
    transcript: list[Turn | ToolCall] = []
    open_calls: list[tuple[int, CallEvent]] = []
    ids: set[str] = set()
    for event in events:
        if isinstance(event, Turn):
            transcript.append(event)
        elif isinstance(event, CallEvent):
            if event.result is None:
                open_calls.append((len(transcript), event))
            ids.add(event.id)
            transcript.append(_call(event) if event.result is None else _finished_call(event, event.result))
        elif isinstance(event, ResultEvent):
            open_call = _matching_call(open_calls, event, is_known=bool(event.id) and event.id in ids)
            if open_call is not None:
                open_calls.remove(open_call)
                at, call = open_call
                transcript[at] = _finished_call(call, event)
            elif not event.id or event.id not in ids:
                transcript.append(Turn(role="tool", content=event.result if event.error is None else event.error))
    return tuple(transcript)


def _matching_call(
    open_calls: Sequence[tuple[int, CallEvent]], event: ResultEvent, *, is_known: bool
) -> tuple[int, CallEvent] | None:
    """Return the open call that a result belongs to."""
    if is_known:
        return next((open_call for open_call in open_calls if open_call[1].id == event.id), None)
    fitting = (w for w in open_calls if not (event.id and w[1].id) and event.name in ("", w[1].name))
    return next(fitting, None)


def _call(event: CallEvent) -> ToolCall:
    started = None if event.at is None else event.at.isoformat()
    return ToolCall(
        name=event.name, arguments=call_arguments(event.arguments), id=event.id, error=event.error, started=started
    )


def _finished_call(call: CallEvent, result: ResultEvent) -> ToolCall:
    seconds = None if call.at is None or result.at is None else (result.at - call.at).total_seconds()
    return replace(
        _call(call),
        result=result.result,
        error=call.error if result.error is None else result.error,
        seconds=seconds if seconds is not None and seconds >= 0 else None,
    )


def parse_time(value: Any) -> datetime | None:
    """Convert a datetime or an ISO 8601 text to UTC, or return None. A time without a zone counts as UTC.

    >>> parse_time("2026-05-01T12:00:00+02:00"), parse_time("soon")
    (datetime.datetime(2026, 5, 1, 10, 0, tzinfo=datetime.timezone.utc), None)
    """
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(time, datetime):
            return None
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
