"""Converts calls of chat models to rows of the store and back."""

import zlib
from typing import NamedTuple

from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.plain_data import finite_number
from evalmark.storage.database.field_specs import REPLY, REQUEST
from evalmark.storage.database.fields import (
    dump_fields,
    from_json,
    from_sql,
    load_fields,
    read_int,
    read_object,
    read_text,
    sql_text,
    to_row_json,
)

_LARGEST = 1 << 63
"""SQLite has no integers from here on."""
_MOST_TOKENS = 1 << 40
"""More than any reply has; SQLite can add eight million such numbers."""


class CallRow(NamedTuple):
    """The columns of a call, without its run; large texts come last."""

    key: str | bytes
    ok: int
    """1 if the reply can be replayed."""
    model: str | bytes
    created: str | bytes
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    identity: str | bytes
    repeat: int
    use: int
    error: str | bytes | None
    request: str
    reply: str | None
    checksum: int = 0
    """Checksum of all other columns."""

    @property
    def size(self) -> int:
        """The approximate number of bytes."""
        return len(self.request) + len(self.reply or "")


COLUMNS = ", ".join(CallRow._fields)


def encode_call(call: Call) -> CallRow:
    """Encode a call.

    Raises:
        ValueError: its repeat or use is not a finite number.
    """
    if not (0 <= call.repeat < _LARGEST and 0 <= call.use < _LARGEST):
        raise ValueError(f"repeat {call.repeat} and use {call.use} of a call have to be counts")
    reply = call.reply
    row = CallRow(
        key=sql_text(call.key),
        ok=int(call.can_be_replayed),
        model=sql_text(call.model),
        created=sql_text(call.created),
        input_tokens=None if reply is None else token_count(reply.usage.input_tokens),
        output_tokens=None if reply is None else token_count(reply.usage.output_tokens),
        cost=None if reply is None else finite_number(reply.cost),
        identity=sql_text(call.identity),
        repeat=call.repeat,
        use=call.use,
        error=None if call.error is None else sql_text(call.error),
        request=_request_json(call.request),
        reply=None if reply is None else to_row_json(dump_fields(reply, REPLY)),
    )
    return row._replace(checksum=_checksum(row))


def decode_call(row: CallRow) -> Call:
    """Decode a call.

    Raises:
        ValueError: the row does not hold what `encode_call` writes.
    """
    _refuse_damaged(row)
    reply: Reply | None = None if row.reply is None else load_fields(Reply, REPLY, from_json(row.reply))
    return Call(
        masked=reply is not None and reply.status == "ok" and not row.ok,
        key=from_sql(row.key),
        model=from_sql(row.model),
        identity=from_sql(row.identity),
        request=load_fields(Request, REQUEST, from_json(row.request)),
        repeat=read_int(row.repeat),
        use=read_int(row.use),
        reply=reply,
        error=None if row.error is None else from_sql(row.error),
        created=from_sql(row.created),
    )


def is_sound(row: CallRow) -> bool:
    """Return whether the checksum of a row matches."""
    try:
        return row.checksum == _checksum(row)
    except ValueError:  # a damaged text may be bytes
        return False


def decode_replayed_reply(row: CallRow) -> Reply:
    """Decode the reply of a row and mark it as replayed; the request is not decoded.

    Raises:
        ValueError: the row does not hold what `encode_call` writes.
    """
    _refuse_damaged(row)
    # a reply from an imported file does not hold its key
    fields = {**read_object(from_json(read_text(row.reply))), "key": from_sql(row.key), "replayed": True}
    reply: Reply = load_fields(Reply, REPLY, fields)
    return reply


def _refuse_damaged(row: CallRow) -> None:
    if row.checksum != _checksum(row):
        raise ValueError("its checksum is wrong")


def _request_json(request: Request) -> str:
    """Return the request as JSON, built from the texts that its key is computed from."""
    messages, schema, settings, logprobs = request.texts
    schema_field = "" if request.schema is None else f'"schema":{schema},'
    return f'{{"messages":{messages},{schema_field}"settings":{settings},"logprobs":{logprobs}}}'


def _checksum(row: CallRow) -> int:
    """Return the checksum of a row. Requests and replies are ASCII."""
    total = zlib.crc32(repr(row[:-3]).encode(errors="surrogatepass"))
    total = zlib.crc32(read_text(row.request).encode(), total)
    return total if row.reply is None else zlib.crc32(read_text(row.reply).encode(), total)


def token_count(value: object) -> int | None:
    """Return a token count that SQL columns and sums can hold; None for anything else.

    >>> token_count(12), token_count(-1), token_count(2**60), token_count(1.5)
    (12, None, None, None)
    """
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None
