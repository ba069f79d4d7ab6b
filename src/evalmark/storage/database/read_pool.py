"""Connections for reading. A file is opened for each read; connections to a server are reused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from .connection import Connection
from .errors import close_on_error
from .open import recheck_version

MAX_IDLE = 4
"""The largest number of idle connections to a server."""


class ReadPool:
    """Lends connections for reading to any thread."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self.connect = connect
        """Opens a connection that the caller closes."""
        self._lock = Lock()
        self._idle: list[Connection] = []
        self._closed = False

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """Lend a connection for one read."""
        db = self._waiting() or self.connect()
        try:
            yield db
        finally:
            if not self._keeps(db):
                db.close()

    def close(self) -> None:
        """Close all idle connections; borrowed ones are closed when they are returned."""
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
