"""A span that has ended as a value for the store: plain data, read, joined, redacted and cut, off the app's thread."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from evalmark.core.values.case import Output
from evalmark.core.values.session import Session, Span
from evalmark.core.values.usage import Usage
from evalmark.inputs.documents.known import MASK
from evalmark.inputs.documents.masking import in_every_text, masked
from evalmark.inputs.documents.secrets import without_secrets
from evalmark.runs.targets.output import join_chunks
from evalmark.runs.transcripts.contents import as_plain, get_field
from evalmark.runs.transcripts.frameworks import recognize_output
from evalmark.runs.transcripts.tokens import token_usage

from .copying import Foreign, Pieces
from .under_way import OpenSession, OpenSpan
from .wrapping import Arguments

Redact = Callable[[str], str]
"""What is kept of a text."""
MOST_TEXT = 1_000_000
"""Characters of one text that are kept."""
_TEXTS = ("text", "content", "page_content")
"""Under which a passage keeps its text."""


def sealed(span: OpenSpan) -> Span:
    """A span as it goes to the store."""
    output, said = _output(span.output)
    keep = _Kept(span.session.redact)
    contexts = span.contexts if span.contexts is not None or not span.retrieved else _flat(span.retrieved)
    if span.kind == "retrieval" and contexts is None:
        contexts = output
    usage = span.usage if span.usage is not None else said.usage
    return Span(
        id=span.id,
        session=span.session.id,
        project=span.session.project,
        parent=span.parent,
        kind=span.kind,
        name=keep.text(span.name),
        template=masked(str(span.template)),  # tests ask for it by name, so a redactor leaves it as it is
        started=moment(span.started),
        seconds=span.seconds,
        input=keep(_plain(span.input.input if isinstance(span.input, Arguments) else span.input)),
        output=keep(output),
        error=None if span.error is None else keep.text(span.error),
        contexts=None if contexts is None else tuple(keep.text(text) for text in texts_of(_plain(contexts))),
        model=keep.text(str(span.model)),
        usage=usage if usage is None or isinstance(usage, Usage) else token_usage(usage),
        cost=span.cost if isinstance(span.cost, (int, float)) and not isinstance(span.cost, bool) else None,
        metadata=keep({**(_plain(said.metadata) if said.metadata else {}), **_plain(span.metadata)}),
    )


def header(session: OpenSession, dropped: int = 0) -> Session:
    """A session as it goes to the store, with so many spans more that were dropped."""
    metadata = _Kept(session.redact)(_plain(session.said))
    return Session(
        id=session.id, project=session.project, started=moment(session.started), metadata=metadata, dropped=dropped
    )


def moment(seconds: float) -> str:
    """A time since 1970 as ISO 8601 in UTC, to the microsecond.

    >>> moment(0.5)
    '1970-01-01T00:00:00.500000+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def texts_of(found: Any) -> list[str]:
    """The texts of what was retrieved: of a list of texts, of passages that hold one, or of one alone.

    >>> texts_of(["a", {"page_content": "b", "metadata": {}}, ["c"]])
    ['a', 'b', 'c']
    """
    if isinstance(found, str):
        return [found]
    if isinstance(found, Mapping):
        text = next((found[name] for name in _TEXTS if isinstance(found.get(name), str)), None)
        inner = next((found[name] for name in ("documents", "results", "contexts") if name in found), None)
        return [text] if text is not None else texts_of(inner) if inner is not None else [str(found)]
    if isinstance(found, Iterable):
        return [text for item in found for text in texts_of(item)]
    return [] if found is None else [str(found)]


class _Kept:
    """What is kept of plain data: no secret, nothing that the redactor takes out, nothing too long."""

    def __init__(self, redact: Redact | None) -> None:
        self._redact = redact

    def __call__(self, data: Any) -> Any:
        return in_every_text(without_secrets(data), self.text)

    def text(self, text: str) -> str:
        """What is kept of a text."""
        if self._redact is not None:
            try:
                text = str(self._redact(text))
            except Exception:  # noqa: BLE001  foreign code: a redactor that breaks lets nothing through
                return f"{MASK} (the redactor failed)"
        if len(text) > MOST_TEXT:
            text = f"{text[:MOST_TEXT]}… ({len(text):,} characters)"
        return masked(text)


_NOTHING = Output()


def _output(value: Any) -> tuple[Any, Output]:
    """The output as plain data, and what the framework it comes from says of it."""
    if isinstance(value, Pieces):
        pieces = [piece.value if isinstance(piece, Foreign) else piece for piece in value.found]
        return _plain(join_chunks(_said(piece) for piece in pieces)), _NOTHING
    if isinstance(value, Foreign):
        found = recognize_output(value.value)
        if found is not None:
            return _plain(found.value), found
    elif isinstance(value, dict) and (found := recognize_output(_opened(value))) is not None:
        return _plain(found.value), found
    return _plain(value), _NOTHING


def _said(piece: Any) -> Any:
    """The text of a chunk of OpenAI's, which holds one in a place of its own."""
    choices = get_field(piece, "choices") if not isinstance(piece, str) else None
    if isinstance(choices, (list, tuple)):
        return "".join(str(get_field(get_field(choice, "delta"), "content") or "") for choice in choices[:1])
    return piece


def _plain(value: Any) -> Any:
    """Plain data; messages of frameworks within it by what they say."""
    return as_plain(_opened(value))


def _opened(value: Any) -> Any:
    if isinstance(value, Foreign):
        return value.value
    if isinstance(value, dict):
        return {key: _opened(item) for key, item in value.items()}
    return [_opened(item) for item in value] if isinstance(value, list) else value


def _flat(several: list[Any]) -> list[Any]:
    return [item for one in several for item in (one if isinstance(one, list) else [one])]
