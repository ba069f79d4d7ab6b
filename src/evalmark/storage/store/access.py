"""The ways to the file of a store: connections to read with, and the one thread that writes."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from evalmark.core.errors import StoreError
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.read_pool import ReadPool
from evalmark.storage.database.sqlite import Notes

T = TypeVar("T")
Act = Callable[[Connection], T]


class StoreAccess:
    """Reads and writes one file, for the process that has opened it and until it is closed."""

    def __init__(self, path: StoreLocation, db: Connection | None, notes: Notes) -> None:
        self.path, self.notes = path, notes
        self._db = db
        """What is written with; None: for reading only."""
        self._readers = ReadPool(path, notes)
        self._process = os.getpid()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="evalmark-store")
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether there is anything to close: not for a child of the process, and not twice."""
        return not self._closed and os.getpid() == self._process

    @property
    def is_writable(self) -> bool:
        """Whether anything can be written."""
        return self._db is not None

    def connect(self) -> Connection:
        """A further connection to read with."""
        return self._readers.connect()

    def read(self, act: Act[T]) -> T:
        """Do something on a connection that nobody else uses meanwhile."""
        self.check_usable()
        with store_errors(self.path), self._readers.borrow() as db:
            return act(db)

    def write(self, act: Act[T], what: str, needed: int = 0) -> T:
        """Have something done in the thread that writes, and wait for it; `needed` bytes, about, go to the disk."""
        return self.submit(self._accepted(act, what, needed)).result()

    async def write_async(self, act: Act[T], what: str, needed: int = 0) -> T:
        """The same for a task, while others go on."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._accepted(act, what, needed))

    def submit(self, act: Callable[[], T]) -> "Future[T]":
        """Have something done in the thread that writes, after all that was submitted before."""
        return self._writer.submit(act)

    def write_now(self, act: Act[T], what: str, needed: int = 0) -> T:
        """Do something from within the thread that writes, also what was submitted just before `refuse`."""
        with store_errors(self.path, needed=needed, what=what):
            return act(self._connection())

    def check_usable(self) -> None:
        """Raises StoreError in a child of the process that has opened the store, and once it is closed."""
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path}: this store was opened by process {self._process} and cannot be used by its child "
                f"{os.getpid()}; open it again in the child."
            )
        if self._closed:
            raise StoreError(f"{self.path}: this store is closed; open it again.")

    def check_writable(self) -> Connection:
        """What is written with, in the thread that writes; raises StoreError where there is none."""
        self.check_usable()
        return self._connection()

    def stop_accepting(self) -> None:
        """Take nothing more; what was submitted is still done."""
        self._closed = True

    def close(self) -> None:
        """Let go of the file when all that was submitted is done."""
        self.stop_accepting()
        self._writer.shutdown()
        self._readers.close()
        if self._db is not None:
            self._db.close()

    def _accepted(self, act: Act[T], what: str, needed: int) -> Callable[[], T]:
        self.check_writable()
        return partial(self.write_now, act, what, needed)

    def _connection(self) -> Connection:
        if self._db is None:
            raise StoreError(f"{self.path}: this store was opened for reading only; open it without `read_only`.")
        return self._db
