"""A call as one row of the store, and back."""

import json
import zlib
from typing import NamedTuple

from evalmark.core.values.call import Call, Reply, Request
from evalmark.storage.database.field_specs import REPLY, REQUEST
from evalmark.storage.database.fields import (
    dump_fields,
    from_sql,
    load_fields,
    read_int,
    read_object,
    read_text,
    sql_real,
    sql_text,
    to_json,
)

_LARGEST = 1 << 63
"""From here on SQLite has no whole numbers."""
_MOST_TOKENS = 1 << 40
"""No reply has so many, and SQLite adds up eight million such numbers."""


class CallRow(NamedTuple):
    """The columns of a call but for its run: what is searched first, the large texts last."""

    key: str | bytes
    ok: int
    """1: the reply may be replayed."""
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
    """Of all other columns."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return len(self.request) + len(self.reply or "")


COLUMNS = ", ".join(CallRow._fields)


def encode_call(call: Call) -> CallRow:
    """The row of a call.

    Raises:
        ValueError: its repeat or use is no number that can be kept.
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
        cost=None if reply is None else sql_real(reply.cost),
        identity=sql_text(call.identity),
        repeat=call.repeat,
        use=call.use,
        error=None if call.error is None else sql_text(call.error),
        request=_written(call.request),
        reply=None if reply is None else to_json(dump_fields(reply, REPLY)),
    )
    return row._replace(checksum=_checksum(row))


def decode_call(row: CallRow) -> Call:
    """The call of a row.

    Raises:
        ValueError: the row does not hold what `encode_call` writes.
    """
    _refuse_damaged(row)
    reply: Reply | None = None if row.reply is None else load_fields(Reply, REPLY, json.loads(row.reply))
    return Call(
        masked=reply is not None and reply.status == "ok" and not row.ok,
        key=from_sql(row.key),
        model=from_sql(row.model),
        identity=from_sql(row.identity),
        request=load_fields(Request, REQUEST, json.loads(row.request)),
        repeat=read_int(row.repeat),
        use=read_int(row.use),
        reply=reply,
        error=None if row.error is None else from_sql(row.error),
        created=from_sql(row.created),
    )


def is_sound(row: CallRow) -> bool:
    """Whether a row holds what was written."""
    try:
        return row.checksum == _checksum(row)
    except ValueError:  # damaged texts may be bytes
        return False


def decode_replayed_reply(row: CallRow) -> Reply:
    """The reply of a row that has one, as one that is replayed; what was asked is not read.

    Raises:
        ValueError: the row does not hold what `encode_call` writes.
    """
    _refuse_damaged(row)
    # One that came in a file does not know under which key it is kept.
    told = {**read_object(json.loads(read_text(row.reply))), "key": from_sql(row.key), "replayed": True}
    reply: Reply = load_fields(Reply, REPLY, told)
    return reply


def _refuse_damaged(row: CallRow) -> None:
    if row.checksum != _checksum(row):
        raise ValueError("its checksum is wrong")


def _written(request: Request) -> str:
    """The request as JSON, put together from the texts that its key was made of."""
    messages, schema, settings, logprobs = request.texts
    wanted = "" if request.schema is None else f'"schema":{schema},'
    return f'{{"messages":{messages},{wanted}"settings":{settings},"logprobs":{logprobs}}}'


def _checksum(row: CallRow) -> int:
    """Requests and replies are ASCII; the rest is short."""
    total = zlib.crc32(repr(row[:-3]).encode(errors="surrogatepass"))
    total = zlib.crc32(read_text(row.request).encode(), total)
    return total if row.reply is None else zlib.crc32(read_text(row.reply).encode(), total)


def token_count(value: object) -> int | None:
    """A number of tokens that columns and sums can hold; what cannot be one is unknown.

    >>> token_count(12), token_count(-1), token_count(2**60), token_count(1.5)
    (12, None, None, None)
    """
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None
