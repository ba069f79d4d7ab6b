"""The recorded calls of a store: list, show, delete, export and import them."""

import os
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

from evalmark.core.values.call import Call
from evalmark.core.values.tool import ToolRecording
from evalmark.storage.call_log import recording_file, recordings, tool_recordings
from evalmark.storage.call_log.recording_file import ImportedCalls
from evalmark.storage.call_log.recordings import ModelCallSummary, Recording
from evalmark.storage.call_log.tool_recordings import ToolCallSummary
from evalmark.storage.database.connection import Connection
from evalmark.storage.results.stored_results import StoredResults
from evalmark.storage.results.stored_runs import find_number

from .access import StoreAccess


class Recordings:
    """The recorded calls of a store; `Store.recordings` returns it."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    def by_model(self) -> list[ModelCallSummary]:
        """Summarize the recorded calls by model."""
        return self._access.read(recordings.by_model)

    def by_tool(self) -> list[ToolCallSummary]:
        """Summarize the recorded calls by tool."""
        return self._access.read(tool_recordings.by_tool)

    def newest(self, match: str = "", limit: int | None = None) -> list[Recording]:
        """Return recorded calls, the newest first; `match` is part of a name or a request, or the start of a key."""
        return self._access.read(lambda db: tool_recordings.list_all_calls(db, match, limit))

    def call(self, key: str) -> Call | None:
        """Return the call of a chat model with a key, also one that cannot be replayed."""
        return self._access.read(lambda db: recordings.find_call(db, self._access.path, key))

    def tool_call(self, key: str) -> ToolRecording | None:
        """Return the call of a tool with a key."""
        return self._access.read(lambda db: tool_recordings.find_tool_call(db, self._access.path, key))

    def prices(self, keys: Collection[str]) -> Mapping[str, tuple[str, float | None]]:
        """Return the model and the cost in US dollars of each call; the cost is None if unknown, and tools are left out."""
        return self._access.read(lambda db: tool_recordings.prices(db, keys))

    def clear(
        self,
        model: str | None = None,
        older_than: datetime | None = None,
        *,
        failed_only: bool = False,
        tool: str | None = None,
    ) -> int:
        """Delete the recorded calls that match every condition, by default all; return how many."""
        self._access.move_calls()
        forget = partial(recordings.clear, model=model, older_than=older_than, failed_only=failed_only, tool=tool)
        return self._access.write(forget, "the change")

    def export(
        self, path: str | os.PathLike[str], run: str | None = None, model: str | None = None, tool: str | None = None
    ) -> int:
        """Write recordings to a file that a team can share, one call a line; return how many.

        The file holds only replayable replies, without headers and failed attempts. With `run`, it holds
        calls that the run has paid for and calls that its results used.

        Raises:
            StoreError: no call matches, a recording or a result is damaged, or the file cannot be written; an
                existing file is not changed.
        """

        def export(db: Connection) -> int:
            store = self._access.path
            number = None if run is None else find_number(db, store, run)
            used = set() if number is None else {key for r in StoredResults(store, number) for key in r.calls}
            selection = tool_recordings.RecordingFilter(run=number, model=model, tool=tool, used=used)
            return recording_file.write_calls(Path(path), tool_recordings.exported_calls(db, store, selection))

        return self._access.read(export)

    def add(
        self, path: str | os.PathLike[str], addresses: Mapping[str, str] = recording_file.NO_ADDRESSES
    ) -> ImportedCalls:
        """Add all recordings of a file in one transaction; return how many are new and how many were known.

        Calls of an endpoint in `addresses` are added as calls of the address that it maps to.

        Raises:
            DataError: a line is invalid or its key does not match its request, or no call in the file has one of the
                addresses.
        """
        self._access.move_calls()
        rows = recording_file.read_calls(Path(path), addresses)
        return self._access.write(
            lambda db: recording_file.add_calls(db, rows), "the recordings", sum(row.size for row in rows)
        )
