"""Converts sessions, spans and labels to rows of the store and back."""

import json
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from evalmark.core.errors import DataError
from evalmark.core.values.label import Label, LabelSample
from evalmark.core.values.session import Session, Span
from evalmark.inputs.documents.text import MAX_ROW
from evalmark.inputs.secrets.fields import mask_secret_fields
from evalmark.inputs.secrets.masks import mask_secrets_in_data
from evalmark.storage.database.field_specs import LABEL, LABEL_SAMPLE, SESSION, SPAN
from evalmark.storage.database.fields import Spec, dump_fields, load_fields, read_text, to_json


class ChecksummedJson(NamedTuple):
    """A value as JSON with a checksum."""

    content: str
    checksum: int
    """CRC-32 of the content."""


def encode_span(span: Span) -> ChecksummedJson:
    """Encode a span, without values that have the name of a secret.

    Raises:
        DataError: it is longer than a line of a file may be.
    """
    found = _encode(mask_secret_fields(dump_fields(span, SPAN)))
    if len(found.content) > MAX_ROW // 2:
        raise DataError(
            f"{span.project}: {span.name or 'a span'} takes {len(found.content):,} characters, and {MAX_ROW // 2:,} can be "
            "recorded; remove large parts with a redactor."
        )
    return found


def encode_label(label: Label) -> ChecksummedJson:
    """Encode a label."""
    return _encode(dump_fields(label, LABEL))


def encode_session(session: Session) -> str:
    """Encode a session without its spans and without values that have the name of a secret."""
    return to_json(mask_secrets_in_data(mask_secret_fields(dump_fields(session, SESSION))))


def encode_label_sample(sample: LabelSample) -> ChecksummedJson:
    """Encode a sample of outputs to label."""
    return _encode(dump_fields(sample, LABEL_SAMPLE))


def decode_session(header: str) -> Session:
    """Decode a session, without spans.

    Raises:
        ValueError: the text is not what `encode_session` returns.
    """
    found: Session = load_fields(Session, SESSION, json.loads(header))
    return found


def _encode(data: Any) -> ChecksummedJson:
    text = to_json(mask_secrets_in_data(data))
    return ChecksummedJson(text, zlib.crc32(text.encode()))


def _decode(kind: Callable[..., Any], spec: Spec, row: ChecksummedJson) -> Any:
    """Decode a value; raise ValueError if the row is not what the encoder returned."""
    text = read_text(row.content)
    if zlib.crc32(text.encode(errors="surrogatepass")) != row.checksum:
        raise ValueError("its checksum is wrong")
    return load_fields(kind, spec, json.loads(text))


decode_span: Callable[[ChecksummedJson], Span] = partial(_decode, Span, SPAN)
decode_label: Callable[[ChecksummedJson], Label] = partial(_decode, Label, LABEL)
decode_label_sample: Callable[[ChecksummedJson], LabelSample] = partial(_decode, LabelSample, LABEL_SAMPLE)
