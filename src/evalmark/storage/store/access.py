"""Owns the connections of a store: a pool for reading, and one thread that writes."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

from evalmark.core.errors import StoreError
from evalmark.storage.database.connection import Connection, FileConnection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.open import open_read_only, open_writable
from evalmark.storage.database.read_pool import ReadPool
from evalmark.storage.database.sqlite import Notes, empty_store

T = TypeVar("T")
Act = Callable[[Connection], T]


class StoreAccess:
    """Reads and writes one store, in the process that opened it, until it is closed."""

    def __init__(self, path: StoreLocation, db: Connection | None, notes: Notes, *, is_awaited: bool = False) -> None:
        self.path, self.notes = path, notes
        self._db = db
        """The connection for writing; None if the store is read-only, or awaited and nothing was written yet."""
        self._is_awaited = is_awaited
        self._opening = Lock()
        self._readers = ReadPool(self.connect)
        self._process = os.getpid()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="evalmark-store")
        self._closed = False
        self.move_calls: Callable[[], None] = lambda: None
        """Moves calls of this process into the store."""

    @property
    def is_open(self) -> bool:
        """Whether there is something to close; False in a child process."""
        return not self._closed and os.getpid() == self._process

    @property
    def is_writable(self) -> bool:
        """Whether the store can be written."""
        return self._db is not None or self._is_awaited

    def has_write_ahead_log(self) -> bool:
        """Return whether the store is a file that several processes of this machine may write."""
        return isinstance(self._db, FileConnection) and self._db.pragma("journal_mode") == "wal"

    def connect(self) -> Connection:
        """Open a further connection for reading; an awaited file that does not exist yet is empty."""
        if self._is_awaited and isinstance(self.path, Path) and not self.path.exists():
            return empty_store()
        return open_read_only(self.path, self.notes)

    def read(self, act: Act[T]) -> T:
        """Run a function with a connection for reading."""
        self.check_usable()
        self.move_calls()
        with store_errors(self.path), self._readers.borrow() as db:
            return act(db)

    def write(self, act: Act[T], what: str, needed: int = 0) -> T:
        """Run a function in the writer thread and wait; it writes about `needed` bytes."""
        return self.submit(self._accepted(act, what, needed)).result()

    async def write_async(self, act: Act[T], what: str, needed: int = 0) -> T:
        """Run a function in the writer thread, without blocking the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._accepted(act, what, needed))

    def submit(self, act: Callable[[], T]) -> "Future[T]":
        """Submit a function to the writer thread, after all earlier ones."""
        return self._writer.submit(act)

    def write_now(self, act: Act[T], what: str, needed: int = 0) -> T:
        """Run a function within the writer thread; also works for functions submitted before `stop_accepting`."""
        with store_errors(self.path, needed=needed, what=what):
            return act(self._connection())

    def check_usable(self) -> None:
        """Raise StoreError if the store is closed, or was opened by a parent process."""
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path}: this store was opened by process {self._process} and cannot be used by its child "
                f"{os.getpid()}; open it again in the child."
            )
        if self._closed:
            raise StoreError(f"{self.path}: this store is closed; open it again.")

    def check_writable(self) -> Connection:
        """Return the connection for writing, in the writer thread; raise StoreError if the store is read-only."""
        self.check_usable()
        return self._connection()

    def stop_accepting(self) -> None:
        """Accept no more work; submitted work is still done."""
        self._closed = True

    def close(self) -> None:
        """Close the store after all submitted work is done."""
        self.stop_accepting()
        self._writer.shutdown()
        self._readers.close()
        if self._db is not None:
            self._db.close()

    def _accepted(self, act: Act[T], what: str, needed: int) -> Callable[[], T]:
        self.check_writable()
        return partial(self.write_now, act, what, needed)

    def _connection(self) -> Connection:
        with self._opening:
            if self._db is None and self._is_awaited:
                self._db = open_writable(self.path, self.notes)
        if self._db is None:
            raise StoreError(f"{self.path}: this store was opened for reading only; open it without `read_only`.")
        return self._db
