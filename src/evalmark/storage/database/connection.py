"""Interfaces of a store's location and connection, and the connection to a SQLite file."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

import apsw

T = TypeVar("T")

SelectRows = Callable[[str, Sequence[Any]], list[Any]]
"""Runs a select statement and returns its rows."""

NO_LIMIT = 2**62
"""A limit that is larger than any number of rows."""


class StoreLocation(Protocol):
    """Where a store is: a path, or a schema on a PostgreSQL server."""

    @property
    def name(self) -> str:
        """The base name of files that belong to the store."""
        ...

    @property
    def parent(self) -> Path:
        """The folder of files that belong to the store."""
        ...

    def with_name(self, name: str, /) -> Path:
        """Return the path of a file next to the store."""
        ...


class Cursor(Protocol):
    """The result of a statement."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        ...

    @property
    def get(self) -> Any:
        """The first column of the first row; None without a row."""
        ...


class Closeable(Protocol):
    """An object that has to be closed."""

    def close(self) -> None:
        """Release the resource."""
        ...


class Connection(Closeable, Protocol):
    """A connection to a store. Statements are written for SQLite; other databases translate them."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Run a statement."""
        ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Run a statement once for each row of parameters."""
        ...

    def changes(self) -> int:
        """Return how many rows the last statement has changed."""
        ...

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can be kept open and used for another read."""
        ...

    def acquire_lock(self, *whose: int) -> None:
        """Take an advisory lock, for example on a pass of a run, until it is released or the connection ends."""
        ...

    def release_lock(self, *whose: int) -> None:
        """Release an advisory lock."""
        ...

    def is_locked(self, *whose: int) -> bool | None:
        """Return whether any connection holds the lock, on any machine; None where the database has no such locks."""
        ...

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> object: ...


class ReadCallback(Protocol):
    """Runs a function with a connection for reading, and waits for its result."""

    def __call__(self, act: Callable[[Connection], T], /) -> T: ...


class WriteCallback(Protocol):
    """Runs a function in the writer thread and waits for its result. `needed` is the estimated number of bytes on disk."""

    def __call__(self, act: Callable[[Connection], T], what: str, needed: int = 0, /) -> T: ...


class FileConnection(apsw.Connection):
    """A connection to a SQLite file. A file has no advisory locks."""

    is_reusable = False
    """A file is opened for each read."""

    def acquire_lock(self, *_whose: int) -> None:
        """Do nothing: process ids in the table `run` show who writes."""

    def release_lock(self, *_whose: int) -> None:
        """Do nothing."""

    def is_locked(self, *_whose: int) -> None:
        """Return None: a file does not know its users."""
