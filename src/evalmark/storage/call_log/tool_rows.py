"""Converts recorded tool calls to rows of the store and back."""

import json
import zlib
from dataclasses import replace
from typing import NamedTuple

from evalmark.core.errors import ToolError
from evalmark.core.values.tool import ToolRecording
from evalmark.inputs.documents.text import MAX_ROW
from evalmark.inputs.secrets.fields import mask_secret_fields
from evalmark.inputs.secrets.masks import mask_secrets_in_data
from evalmark.storage.database.fields import from_sql, read_int, read_text, sql_text, to_json


class ToolRow(NamedTuple):
    """The columns of a recording, without its run; large texts come last."""

    key: str
    tool: str | bytes
    version: str | bytes
    created: str | bytes
    altered: int
    arguments: str
    input: str
    result: str
    checksum: int = 0
    """Checksum of all other columns."""

    @property
    def size(self) -> int:
        """The approximate number of bytes."""
        return len(self.arguments) + len(self.input) + len(self.result)


TOOL_COLUMNS = ", ".join(ToolRow._fields)


def encode_tool(recording: ToolRecording) -> ToolRow:
    """Encode a recording, without arguments that have the name of a secret, and with other secrets masked.

    Raises:
        ToolError: it is longer than a line of a file may be.
    """
    arguments = mask_secrets_in_data(mask_secret_fields(recording.arguments))
    texts = tuple(to_json(part) for part in (arguments, mask_secrets_in_data(recording.input), recording.result))
    if (length := sum(map(len, texts))) > MAX_ROW // 2:
        raise ToolError(
            f"{recording.tool}: a call takes {length:,} characters, and at most {MAX_ROW // 2:,} can be recorded; return less from the "
            "tool, or record less with `sanitize`."
        )
    masked = replace(recording, **dict(zip(("arguments", "input", "result"), map(json.loads, texts), strict=True)))
    row = ToolRow(
        recording.key,
        sql_text(masked.tool),
        sql_text(masked.version),
        sql_text(masked.created),
        int(masked.altered or masked.computed_key != masked.key),
        arguments=texts[0],
        input=texts[1],
        result=texts[2],
    )
    return row._replace(checksum=_checksum(row))


def decode_tool(row: ToolRow) -> ToolRecording:
    """Decode a recording.

    Raises:
        ValueError: the row does not hold what `encode_tool` writes.
    """
    if row.checksum != _checksum(row):
        raise ValueError("its checksum is wrong")
    return ToolRecording(
        key=read_text(row.key),
        tool=from_sql(row.tool),
        version=from_sql(row.version),
        arguments=json.loads(row.arguments),
        input=json.loads(row.input),
        result=json.loads(row.result),
        created=from_sql(row.created),
        altered=bool(read_int(row.altered)),
    )


def _checksum(row: ToolRow) -> int:
    """Return the checksum of a row. The large texts are ASCII."""
    total = zlib.crc32(repr(row[:5]).encode(errors="surrogatepass"))
    for text in row[5:-1]:
        total = zlib.crc32(f"{len(read_text(text))}:{text}".encode(errors="surrogatepass"), total)
    return total
