"""The call log of tools: stores and finds recorded results, from any thread."""

from typing import TypeVar

from evalmark.core.errors import DamagedRecordingError
from evalmark.core.values.tool import ToolRecording
from evalmark.inputs.secrets.masks import mask_secrets_in_data
from evalmark.storage.database.connection import Connection, WriteCallback
from evalmark.storage.database.schema import transaction

from .lookups import RowLookup
from .tool_rows import TOOL_COLUMNS, ToolRow, decode_tool, encode_tool

T = TypeVar("T")

_FIND = f"select {TOOL_COLUMNS} from tool_call where key = ?"  # noqa: S608  columns, not data
_KEEP = f"""
    insert into tool_call (run, {TOOL_COLUMNS}) values ({", ".join("?" * (1 + len(ToolRow._fields)))})
    on conflict (key) do update set run = excluded.run,
    {", ".join(f"{name} = excluded.{name}" for name in ToolRow._fields if name != "key")}
"""  # noqa: S608  columns, not data


class StoredToolLog:
    """Stores tool calls of one run, or outside of runs."""

    def __init__(self, lookups: RowLookup, write: WriteCallback, run: int | None) -> None:
        self._lookups, self._write, self._run = lookups, write, run

    def find(self, key: str) -> ToolRecording | None:
        """Return the recording with this key; None if there is none.

        Raises:
            DamagedRecordingError: there is one, and it cannot be read.
            StoreError: the store cannot be read.
        """
        row = self._lookups(_FIND, key)
        try:
            return None if row is None else decode_tool(ToolRow._make(row))
        except (ValueError, TypeError) as error:
            raise DamagedRecordingError(
                f"{self._lookups.path}: the recorded tool call {key} is damaged ({error})."
            ) from error

    def keep(self, recording: ToolRecording, *, overwrite: bool = False) -> ToolRecording:
        """Store a recording and return the one that is valid for its key from now on.

        An earlier recording stays, unless it is damaged or `overwrite` is true. Arguments with the name of a
        secret are not stored, and secrets in other arguments are masked. A recording with a secret in its
        result is not stored.

        Raises:
            ToolError: it is too long to be stored.
            StoreFullError: the disk is full; what was saved before stays.
            StoreError: the store cannot be written.
        """
        if mask_secrets_in_data(recording.result) is not recording.result:
            return recording
        row = encode_tool(recording)
        return decode_tool(
            self._write(lambda db: keep(db, self._run, row, overwrite), "the result of a tool", row.size)
        )


def keep(db: Connection, run: int | None, row: ToolRow, overwrite: bool = False) -> ToolRow:
    """Store a row in the writer thread and return the row that is valid from now on; it is durable."""
    with transaction(db):
        return put(db, run, row, overwrite)


def put(db: Connection, run: int | None, row: ToolRow, overwrite: bool = False) -> ToolRow:
    """Store a row within a transaction; return it, or the sound row that stays."""
    stored = None if overwrite else db.execute(_FIND, (row.key,)).fetchone()
    if stored is not None and _is_sound(ToolRow._make(stored)):
        return ToolRow._make(stored)
    db.execute(_KEEP, (run, *row))
    return row


def _is_sound(row: ToolRow) -> bool:
    try:
        decode_tool(row)
    except (ValueError, TypeError):
        return False
    return True
