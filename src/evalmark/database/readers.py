"""Connections to read with: a file is opened for each look; to a server, some stay open for the next one."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from .doors import look_into, server_store
from .faults import closed_on_fault
from .opening import Notes
from .server import ServerConnection
from .ways import Connection, Place

MOST = 4
"""Connections to a server that wait for the next look."""


class Readers:
    """Lends connections to any thread."""

    def __init__(self, path: Place, notes: Notes) -> None:
        self._path, self._notes = path, notes
        self._lock = Lock()
        self._idle: list[ServerConnection] = []
        self._closed = False

    def connect(self) -> Connection:
        """A connection for whoever closes it."""
        return look_into(self._path, self._notes)

    @contextmanager
    def lent(self) -> Iterator[Connection]:
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

    def _waiting(self) -> ServerConnection | None:
        with self._lock:
            db = self._idle.pop() if self._idle else None
        if db is not None:
            with closed_on_fault(db):
                server_store().still_looking(db)  # makes a new connection where this one was cut
        return db

    def _keeps(self, db: Connection) -> bool:
        with self._lock:
            keeps = isinstance(db, ServerConnection) and db.is_idle and not self._closed and len(self._idle) < MOST
            if keeps and isinstance(db, ServerConnection):
                self._idle.append(db)
            return keeps
