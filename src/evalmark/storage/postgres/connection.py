"""A connection to a store on a PostgreSQL server."""

import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import StoreError
from evalmark.core.lazy import need

from .addresses import ServerLocation
from .dialect import for_server
from .errors import server_errors
from .wire import adapters

if TYPE_CHECKING:
    import psycopg

_LONGEST_WAIT = 60_000
_QUIET_WAIT = 2_000
"""Milliseconds."""
_SETTINGS = {
    "lock_timeout": _LONGEST_WAIT,
    "client_min_messages": "warning",
    "standard_conforming_strings": "on",
    "extra_float_digits": 1,  # so that numbers keep their exact value
    "idle_in_transaction_session_timeout": _LONGEST_WAIT,  # so that a hanging process does not block all other writers
    "tcp_keepalives_idle": 30,  # detect machines that are gone
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
}
_RETRYABLE = ("begin", "select", "with")
"""Statements that can be retried on a new connection, because they have changed nothing."""


class ServerCursor:
    """The result of a statement."""

    def __init__(self, cursor: "psycopg.RawCursor[Any]") -> None:
        self._cursor = cursor
        self.changed = cursor.rowcount
        self._has_rows = cursor.description is not None

    @property
    def last(self) -> "ServerCursor":
        """The result of the last of several statements."""
        while self._cursor.nextset():
            pass
        return ServerCursor(self._cursor)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._cursor if self._has_rows else ())

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None."""
        return self._cursor.fetchone() if self._has_rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all remaining rows."""
        return self._cursor.fetchall() if self._has_rows else []

    @property
    def get(self) -> Any:
        """The first value of the first row; the whole row if it has several values; None without a row."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row


class ServerConnection:
    """A connection to a store on a server, with the interface of one to a file.

    An idle connection that was cut is opened again, because servers restart and proxies end idle connections. A
    transaction on a connection that is cut fails.
    """

    def __init__(self, location: ServerLocation, *, read_only: bool, notes: Callable[[str], None]) -> None:
        self.location, self._read_only, self._notes = location, read_only, notes
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._held: dict[int, bool] = {}
        """Advisory locks that this connection should have, and whether it has them."""
        self._changed = 0
        self.version: int | None = None
        """The schema version that the store must have for this connection to write; None: any."""
        with server_errors(location):
            self._db = _connect(location, read_only=read_only)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> ServerCursor:
        """Run a statement that is written for SQLite."""
        with self._lock, server_errors(self.location):
            rows = self._begin_write() if sql == "begin immediate" else self._run(for_server(sql), parameters)
            self._changed = max(0, rows.changed)
            return rows

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters, in one round trip."""
        rows = [tuple(each) for each in parameters]
        if rows:
            with self._lock, server_errors(self.location):
                _cursor(self._db).executemany(for_server(sql), rows)

    def changes(self) -> int:
        """Return how many rows the last statement has changed."""
        return self._changed

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open or has failed."""
        return self._db.info.transaction_status.name in ("INTRANS", "INERROR")

    @property
    def is_reusable(self) -> bool:
        """Whether the connection is open and idle."""
        return not self._db.closed and self._db.info.transaction_status.name == "IDLE"

    def acquire_lock(self, *whose: int) -> None:
        """Take an advisory lock, which the server shows to all clients until it is released or the connection ends."""
        with self._lock, server_errors(self.location):
            self._held[self._key(*whose)] = False
            self._take_locks()

    def release_lock(self, *whose: int) -> None:
        """Release an advisory lock."""
        with (
            suppress(StoreError),
            self._lock,
            server_errors(self.location),
        ):  # a connection that has ended holds no locks
            if self._held.pop(key := self._key(*whose), False):
                self._run("select pg_advisory_unlock($1)", (key,))

    def is_locked(self, *whose: int) -> bool:
        """Return whether any connection holds the lock."""
        key = self._key(*whose) % 2**64
        return bool(self.execute(_IS_HELD, (key >> 32, key % 2**32)).get)

    @property
    def server(self) -> tuple[int, str]:
        """The version of the server, for example 150004, and the encoding of the database."""
        return self._db.info.server_version, self._db.info.parameter_status("server_encoding") or ""

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def __del__(self) -> None:
        if (
            hasattr(self, "_db") and os.getpid() == self._process
        ):  # in a child process the connection belongs to the parent
            self._db.close()

    def __enter__(self) -> "ServerConnection":
        self.execute("begin")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.execute("commit")
        elif self.in_transaction:
            self.execute("rollback")

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> ServerCursor:
        psycopg = need("psycopg", "postgres")
        may_try_again = (self._db.closed or self.is_reusable) and sql.lstrip().startswith(_RETRYABLE)
        try:
            return ServerCursor(_cursor(self._db).execute(sql, tuple(parameters) or None))
        except psycopg.OperationalError:
            if not (may_try_again and self._db.closed):
                raise
        self._db = _connect(self.location, read_only=self._read_only)
        self._held = dict.fromkeys(self._held, False)
        return ServerCursor(_cursor(self._db).execute(sql, tuple(parameters) or None))

    def _begin_write(self) -> ServerCursor:
        """Begin a write transaction. As with a file, only one runs at a time."""
        busy = need("psycopg", "postgres").errors.LockNotAvailable
        try:
            rows = self._begin_locked(_QUIET_WAIT)
        except busy:
            self._notes(f"Waiting for another process that is writing {self.location}.")
            rows = self._begin_locked(_LONGEST_WAIT)
        self._take_locks()
        return rows

    def _begin_locked(self, patience: int) -> ServerCursor:
        wait = f"set local lock_timeout = {patience}; select pg_advisory_xact_lock({self._key()})"
        version = "" if self.version is None else "; select version from store_version"
        try:
            rows = self._run(f"begin; {wait}; set local lock_timeout = {_LONGEST_WAIT}{version}")  # one round trip
            if version:
                self._refuse_other(rows.last.get)
        except BaseException:
            if self.in_transaction:
                self._run("rollback")
            raise
        return rows

    def _refuse_other(self, found: int) -> None:
        if found != self.version:
            raise StoreError(
                f"{self.location}: another evalmark has migrated this store to version {found}, and this one writes "
                f"version {self.version}; update evalmark, then resume the run."
            )

    def _take_locks(self) -> None:
        """Take the locks that this connection should have; the server frees those of a broken connection once it notices."""
        for key in [key for key, has in self._held.items() if not has]:
            self._held[key] = bool(self._run("select pg_try_advisory_lock($1)", (key,)).get)

    def _key(self, *whose: int) -> int:
        """Return the number of an advisory lock: of the store, or of something in it."""
        name = "/".join(map(str, ("evalmark", self.location.schema, *whose)))
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


_IS_HELD = """
    select exists (
        select 1 from pg_locks where locktype = 'advisory' and granted and objsubid = 1
        and database = (select oid from pg_database where datname = current_database())
        and classid = cast(cast(? as bigint) as oid) and objid = cast(cast(? as bigint) as oid)
    )
"""


def _cursor(db: "psycopg.Connection[Any]") -> "psycopg.RawCursor[Any]":
    found: psycopg.RawCursor[Any] = need("psycopg", "postgres").RawCursor(db)
    return found


def _connect(location: ServerLocation, *, read_only: bool) -> "psycopg.Connection[Any]":
    psycopg = need("psycopg", "postgres")
    requested: dict[str, Any] | None = None
    with suppress(psycopg.ProgrammingError):  # the error message may repeat a password
        requested = psycopg.conninfo.conninfo_to_dict(location.url)
    if requested is None:
        raise StoreError(
            f"{location}: the server's library cannot read the options of this address; correct the part after the ?."
        )
    settings = {"search_path": location.schema, **_SETTINGS}
    if read_only:
        settings["default_transaction_read_only"] = "on"
    options = " ".join([*(f"-c {name}={value}" for name, value in settings.items()), str(requested.pop("options", ""))])
    connect_options = {
        "connect_timeout": 10,
        "application_name": f"evalmark on {socket.gethostname()}"[:63],
        "keepalives_idle": 30,
        **requested,
        "client_encoding": "utf8",
    }
    return psycopg.connect(autocommit=True, options=options, context=adapters(), **connect_options)  # type: ignore[no-any-return]
