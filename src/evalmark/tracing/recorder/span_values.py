"""Convert ended spans and sessions to the values that are stored: plain data, redacted and cut.

The writer thread does this, so that the app does not wait for it.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from evalmark.core.values.case import Output, Usage
from evalmark.core.values.session import Session, Span
from evalmark.inputs.secrets.fields import MASK, mask_secret_fields
from evalmark.inputs.secrets.masks import map_texts, mask_secrets
from evalmark.runs.targets.output import join_chunks
from evalmark.runs.transcripts.contents import as_plain, get_field
from evalmark.runs.transcripts.frameworks import recognize_output
from evalmark.runs.transcripts.tokens import token_usage

from .copies import Arguments, OpaqueObject, StreamPieces
from .spans import OpenSession, OpenSpan, Redact

MOST_TEXT = 1_000_000
"""Characters stored of one text; the rest is cut off."""
_TEXTS = ("text", "content", "page_content")
"""Keys of a passage that may hold its text."""


def span_value(span: OpenSpan) -> Span:
    """Convert an ended span to the value to store."""
    output, details = _output(span.output)
    redacted = _Redactor(span.session.redact)
    contexts = span.contexts if span.contexts is not None or not span.retrieved else _flat(span.retrieved)
    if span.kind == "retrieval" and contexts is None:
        contexts = output
    usage = span.usage if span.usage is not None else details.usage
    return Span(
        id=span.id,
        session=span.session.id,
        project=span.session.project,
        parent=span.parent,
        kind=span.kind,
        name=redacted.text(span.name),
        template=mask_secrets(str(span.template)),  # a name that tests look up, so `redact` is not applied
        started=iso_time(span.started),
        seconds=span.seconds,
        input=redacted(_plain(span.input.input if isinstance(span.input, Arguments) else span.input)),
        output=redacted(output),
        error=None if span.error is None else redacted.text(span.error),
        contexts=None if contexts is None else tuple(redacted.text(text) for text in texts_of(_plain(contexts))),
        model=redacted.text(str(span.model)),
        usage=usage if usage is None or isinstance(usage, Usage) else token_usage(usage),
        cost=span.cost if isinstance(span.cost, (int, float)) and not isinstance(span.cost, bool) else None,
        metadata=redacted({**(_plain(details.metadata) if details.metadata else {}), **_plain(span.metadata)}),
    )


def session_value(session: OpenSession, dropped: int = 0) -> Session:
    """Convert a session to the value to store; `dropped` spans are added to its count of dropped ones."""
    metadata = _Redactor(session.redact)(_plain(session.metadata_copy))
    return Session(
        id=session.id, project=session.project, started=iso_time(session.started), metadata=metadata, dropped=dropped
    )


def iso_time(seconds: float) -> str:
    """Format seconds since 1970 as ISO 8601 in UTC, to the microsecond.

    >>> iso_time(0.5)
    '1970-01-01T00:00:00.500000+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def texts_of(result: Any) -> list[str]:
    """Return the texts of the result of a retrieval: a text, a passage that holds one, or a list of these.

    >>> texts_of(["a", {"page_content": "b", "metadata": {}}, ["c"]])
    ['a', 'b', 'c']
    """
    if isinstance(result, str):
        return [result]
    if isinstance(result, Mapping):
        text = next((result[name] for name in _TEXTS if isinstance(result.get(name), str)), None)
        inner = next((result[name] for name in ("documents", "results", "contexts") if name in result), None)
        return [text] if text is not None else texts_of(inner) if inner is not None else [str(result)]
    if isinstance(result, Iterable):
        return [text for item in result for text in texts_of(item)]
    return [] if result is None else [str(result)]


class _Redactor:
    """Applies the redact function of the app to texts, masks secrets and cuts long texts."""

    def __init__(self, redact: Redact | None) -> None:
        self._redact = redact

    def __call__(self, data: Any) -> Any:
        return map_texts(mask_secret_fields(data), self.text)

    def text(self, text: str) -> str:
        """Return the redacted and cut text to store."""
        if self._redact is not None:
            try:
                text = str(self._redact(text))
            except Exception:  # noqa: BLE001  code of the app; if it fails, the text is not stored
                return f"{MASK} (the redactor failed)"
        if len(text) > MOST_TEXT:
            text = f"{text[:MOST_TEXT]}… ({len(text):,} characters)"
        return mask_secrets(text)


_NOTHING = Output()


def _output(value: Any) -> tuple[Any, Output]:
    """The output as plain data, and the usage and metadata that its framework reports."""
    if isinstance(value, StreamPieces):
        pieces = [piece.value if isinstance(piece, OpaqueObject) else piece for piece in value.items]
        return _plain(join_chunks(_chunk_text(piece) for piece in pieces)), _NOTHING
    if isinstance(value, OpaqueObject):
        found = recognize_output(value.value)
        if found is not None:
            return _plain(found.value), found
    elif isinstance(value, dict) and (found := recognize_output(_unwrap(value))) is not None:
        return _plain(found.value), found
    return _plain(value), _NOTHING


def _chunk_text(piece: Any) -> Any:
    """The text of a chunk of an OpenAI stream; any other item unchanged."""
    choices = get_field(piece, "choices") if not isinstance(piece, str) else None
    if isinstance(choices, (list, tuple)):
        return "".join(str(get_field(get_field(choice, "delta"), "content") or "") for choice in choices[:1])
    return piece


def _plain(value: Any) -> Any:
    """The value as plain data, messages of frameworks included."""
    return as_plain(_unwrap(value))


def _unwrap(value: Any) -> Any:
    if isinstance(value, OpaqueObject):
        return value.value
    if isinstance(value, dict):
        return {key: _unwrap(item) for key, item in value.items()}
    return [_unwrap(item) for item in value] if isinstance(value, list) else value


def _flat(several: list[Any]) -> list[Any]:
    return [item for one in several for item in (one if isinstance(one, list) else [one])]
