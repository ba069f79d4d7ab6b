"""Sessions, spans and labels as rows of the store, and back."""

import json
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from evalmark.core.errors import DataError
from evalmark.core.values.label import Label
from evalmark.core.values.session import Session, Span
from evalmark.inputs.documents.masking import masked_data
from evalmark.inputs.documents.secrets import without_secrets
from evalmark.inputs.documents.text import MAX_ROW
from evalmark.storage.database.field_specs import LABEL, SESSION, SPAN
from evalmark.storage.database.fields import Spec, dump_fields, load_fields, read_text, to_json


class ChecksummedJson(NamedTuple):
    """A value as JSON, and what tells whether a disk has forgotten some of it."""

    content: str
    checksum: int
    """CRC-32 of the content."""


def encode_span(span: Span) -> ChecksummedJson:
    """A span for the store, without what goes by the name of a secret.

    Raises:
        DataError: it is longer than a line of a file may be.
    """
    found = _sealed(without_secrets(dump_fields(span, SPAN)))
    if len(found.content) > MAX_ROW // 2:
        raise DataError(
            f"{span.project}: {span.name or 'a span'} takes {len(found.content):,} characters, and {MAX_ROW // 2:,} can be "
            "recorded; leave out what is large with a redactor."
        )
    return found


def encode_label(label: Label) -> ChecksummedJson:
    """A label for the store."""
    return _sealed(dump_fields(label, LABEL))


def encode_session(session: Session) -> str:
    """All of a session but its spans, without what goes by the name of a secret."""
    return to_json(masked_data(without_secrets(dump_fields(session, SESSION))))


def decode_span(row: ChecksummedJson) -> Span:
    """The span of a row.

    Raises:
        ValueError: the row does not hold what `sealed_span` gives.
    """
    found: Span = _opened(Span, SPAN, row)
    return found


def decode_label(row: ChecksummedJson) -> Label:
    """The label of a row.

    Raises:
        ValueError: the row does not hold what `sealed_label` gives.
    """
    found: Label = _opened(Label, LABEL, row)
    return found


def decode_session(header: str) -> Session:
    """The session of a header, without spans.

    Raises:
        ValueError: the text is not what `session_header` gives.
    """
    found: Session = load_fields(Session, SESSION, json.loads(header))
    return found


def _sealed(data: Any) -> ChecksummedJson:
    text = to_json(masked_data(data))
    return ChecksummedJson(text, zlib.crc32(text.encode()))


def _opened(kind: Callable[..., Any], spec: Spec, row: ChecksummedJson) -> Any:
    text = read_text(row.content)
    if zlib.crc32(text.encode(errors="surrogatepass")) != row.checksum:
        raise ValueError("its checksum is wrong")
    return load_fields(kind, spec, json.loads(text))
