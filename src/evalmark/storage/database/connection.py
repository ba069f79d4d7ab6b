"""A store as those who read and write it are handed it: where it is, a connection, and the two ways to use one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

import apsw

T = TypeVar("T")

SelectRows = Callable[[str, Sequence[Any]], list[Any]]
"""Runs a select statement and returns its rows."""

NO_LIMIT = 2**62
"""A limit that leaves nothing out."""


class StoreLocation(Protocol):
    """Where a store is: a file, or a schema on a server."""

    @property
    def name(self) -> str:
        """A name for files that belong to the store."""
        ...

    @property
    def parent(self) -> Path:
        """The folder of these files."""
        ...

    def with_name(self, name: str, /) -> Path:
        """A file beside the store."""
        ...


class Cursor(Protocol):
    """What a statement has found."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    @property
    def get(self) -> Any:
        """The one value of the first row; None without a row."""
        ...


class Closeable(Protocol):
    """Something that is open until it is closed."""

    def close(self) -> None:
        """Let go of it."""
        ...


class Connection(Closeable, Protocol):
    """What a store needs of a connection; statements are written for SQLite and run elsewhere too."""

    def execute(self, sql: str, given: Sequence[Any] = (), /) -> Cursor:
        """Run a statement."""
        ...

    def executemany(self, sql: str, given: Iterable[Sequence[Any]], /) -> object:
        """Run a statement once for each row of parameters."""
        ...

    def changes(self) -> int:
        """Rows that the last statement has changed."""
        ...

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is under way."""
        ...

    @property
    def is_reusable(self) -> bool:
        """Whether it can be kept open for the next look."""
        ...

    def acquire_lock(self, *whose: int) -> None:
        """Let others know of something, as a pass of a run, that this connection writes it, as long as it lasts."""
        ...

    def release_lock(self, *whose: int) -> None:
        """It is written no longer."""
        ...

    def is_locked(self, *whose: int) -> bool | None:
        """Whether any connection writes it, also on another machine; None where connections do not tell."""
        ...

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> object: ...


class ReadCallback(Protocol):
    """Has something read, and waits for it."""

    def __call__(self, act: Callable[[Connection], T], /) -> T: ...


class WriteCallback(Protocol):
    """Has something done in the thread that writes, and waits for it; `needed` bytes, about, go to the disk."""

    def __call__(self, act: Callable[[Connection], T], what: str, needed: int = 0, /) -> T: ...


class FileConnection(apsw.Connection):
    """SQLite's own, with what else a store asks of a connection: a file tells nothing of who uses it."""

    is_reusable = False
    """One to a file is opened for each look."""

    def acquire_lock(self, *_whose: int) -> None:
        """Nothing is held by a connection: the number of its process tells who is there."""

    def release_lock(self, *_whose: int) -> None:
        """Nothing is held."""

    def is_locked(self, *_whose: int) -> None:
        """Nobody can say."""
