"""Connections to read with: a file is opened for each look; to a server, some stay open for the next one."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from .connection import Connection, StoreLocation
from .errors import close_on_error
from .open import open_read_only, recheck_version
from .sqlite import Notes

MAX_IDLE = 4
"""Connections to a server that wait for the next look."""


class ReadPool:
    """Lends connections to any thread."""

    def __init__(self, path: StoreLocation, notes: Notes) -> None:
        self._path, self._notes = path, notes
        self._lock = Lock()
        self._idle: list[Connection] = []
        self._closed = False

    def connect(self) -> Connection:
        """A connection for whoever closes it."""
        return open_read_only(self._path, self._notes)

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """A connection for one look."""
        db = self._waiting() or self.connect()
        try:
            yield db
        finally:
            if not self._keeps(db):
                db.close()

    def close(self) -> None:
        """Let go of all that wait; those that are lent are closed when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    def _waiting(self) -> Connection | None:
        with self._lock:
            db = self._idle.pop() if self._idle else None
        if db is not None:
            with close_on_error(db):
                recheck_version(db)
        return db

    def _keeps(self, db: Connection) -> bool:
        with self._lock:
            keeps = db.is_reusable and not self._closed and len(self._idle) < MAX_IDLE
            if keeps:
                self._idle.append(db)
            return keeps
