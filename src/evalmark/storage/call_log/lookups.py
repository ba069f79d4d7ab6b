"""Finds recorded calls: those of the store, and those in files of replies that it does not have yet."""

import threading
from collections.abc import Callable, Collection, Mapping
from io import RawIOBase
from pathlib import Path
from typing import Any

from evalmark.storage.database.connection import Connection, FileConnection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.fields import from_sql, read_int, read_text, sql_text

from .reply_file import file_path, parse_records
from .reply_log import ReplyLog
from .rows import COLUMNS, CallRow

_FIND = f"select {COLUMNS} from call where key = ? and ok = 1"  # noqa: S608  columns, not data
_FILES = "select id, processed from reply_log where processed is not null"


class RowLookup:
    """Finds rows on its own connection in the caller's thread, which is faster than another thread."""

    def __init__(self, path: StoreLocation, usable: Callable[[], None], connect: Callable[[], Connection]) -> None:
        self.path, self._usable, self._connect = path, usable, connect
        self._lock = threading.Lock()
        self._db: Connection | None = None
        self._version: int | None = None
        """The state of the file that `_files` belongs to."""
        self._files: Mapping[str, int] = {}

    def __call__(self, query: str, key: str) -> tuple[Any, ...] | None:
        """Return the row that a query finds for a key; None if there is none.

        Raises:
            StoreError: the store cannot be read.
        """
        self._usable()
        with store_errors(self.path), self._lock:
            row: tuple[Any, ...] | None = self._connection().execute(query, (sql_text(key),)).fetchone()
        return row

    def with_files(self, query: str, key: str) -> tuple[tuple[Any, ...] | None, Mapping[str, int]]:
        """Return the row that a query finds for a key; without one, also the files of replies at that moment.

        A store on a server has no such files.

        Raises:
            StoreError: the store cannot be read.
        """
        self._usable()
        with store_errors(self.path), self._lock:
            db = self._connection()
            while (row := db.execute(query, (sql_text(key),)).fetchone()) is None and isinstance(db, FileConnection):
                version = db.data_version()
                if version == self._version:  # nothing has been committed since
                    break
                self._files, self._version = _sizes(db), db.data_version()
                if self._version == version:
                    break
        return row, self._files

    def _connection(self) -> Connection:
        if self._db is None:
            self._db = self._connect()
        return self._db

    def close(self) -> None:
        """Close the connection."""
        if self._db is not None:
            self._db.close()


def _sizes(db: Connection) -> dict[str, int]:
    """Return how many bytes of each file of replies the store has."""
    return {read_text(id_): read_int(processed) for id_, processed in db.execute(_FILES)}


class RepliesMovedError(Exception):
    """A file of replies is gone, because the store has them since."""


class OtherReplies:
    """Finds replies that other processes have received and not stored yet."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._tails: dict[str, _Tail] = {}

    def find(self, key: str, logs: Mapping[str, int]) -> CallRow | None:
        """Return the replayable call with a key from the files with these ids, of which the store has processed these numbers of bytes.

        Raises:
            RepliesMovedError: a file is gone; look the key up in the store again.
        """
        with self._lock:
            self._drop_others(logs)
            rows = [self._tail(id_, processed).find(key, processed) for id_, processed in logs.items()]
        return next(filter(None, rows), None)

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._drop_others(())

    def _tail(self, id_: str, processed: int) -> "_Tail":
        if id_ not in self._tails:
            try:
                file = file_path(self._store, id_).open("rb", buffering=0)
            except FileNotFoundError as gone:
                raise RepliesMovedError from gone
            self._tails[id_] = _Tail(file, processed)
        return self._tails[id_]

    def _drop_others(self, logs: Collection[str]) -> None:
        for id_ in [id_ for id_ in self._tails if id_ not in logs]:
            self._tails.pop(id_).close()


class _Tail:
    """The part of a file that the store has not processed yet."""

    def __init__(self, file: RawIOBase, processed: int) -> None:
        self._file, self._read = file, processed
        self._places: dict[str, tuple[int, CallRow]] = {}
        """For each key, in the order of the file, the end of its last replayable reply, and the reply."""

    def find(self, key: str, processed: int) -> CallRow | None:
        """Return the call with a key; calls that the store has are forgotten."""
        self._file.seek(self._read)
        start = self._read
        for record, end in parse_records(self._file.read() or b""):
            self._read = start + end
            if record.row.ok:
                name = from_sql(record.row.key)
                self._places.pop(name, None)
                self._places[name] = (self._read, record.row)
        while self._places and (oldest := next(iter(self._places.items())))[1][0] <= processed:
            del self._places[oldest[0]]
        found = self._places.get(key)
        return None if found is None else found[1]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class CallLookup:
    """Finds replayable calls: those of the store, and those that this or another process has not moved into it yet."""

    def __init__(self, lookups: RowLookup, log: ReplyLog) -> None:
        self.lookups, self._log = lookups, log
        self._others = OtherReplies(lookups.path) if isinstance(lookups.path, Path) else None

    def __call__(self, key: str) -> CallRow | None:
        """Return the replayable call with a key; None if there is none.

        Raises:
            StoreError: the store cannot be read.
        """
        if (found := self._log.find(key)) is not None:
            return found
        for _ in range(3):
            row, files = self.lookups.with_files(_FIND, key)
            if row is not None:
                return CallRow._make(row)
            others = {id_: size for id_, size in files.items() if not self._log.owns(id_)}
            if not others or self._others is None:
                return None
            try:
                with store_errors(self.lookups.path):
                    return self._others.find(key, others)
            except RepliesMovedError:
                continue
        return None

    def close(self) -> None:
        """Close the connection and the files."""
        self.lookups.close()
        if self._others is not None:
            self._others.close()
