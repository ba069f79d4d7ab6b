"""Makes replies durable in a file at once, and moves them into the store in groups.

A reply costs its task one write to a file and the wait for a sync that many replies share. A transaction costs much
more, so it waits for many replies. Replies are saved in the store directly until the file is open, where the store is
on a server, and where the system has no locks for the file.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from evalmark.core.errors import StoreError
from evalmark.core.text import count
from evalmark.storage.database.connection import Connection, StoreLocation, WriteCallback
from evalmark.storage.database.errors import store_errors

from .entries import LogEntry, save_calls
from .group_commit import GroupCommit, Submit
from .reply_file import ReplyFile, encode_record, mark_processed, register
from .rows import CallRow

R = TypeVar("R")

MOVE_AFTER = 0.5
"""Seconds after which a reply is moved into the store."""
MOVE_AT = 512
"""The number of replies that are moved without waiting."""
LARGEST_FILE = 1 << 25
"""Bytes in a file, after which the next one is begun."""
SYNC_AFTER = 0.008
"""Seconds in which replies gather before a sync."""
QUIET = 0.05
"""Seconds without a sync, after which a reply is synced at once."""


class ReplyLog:
    """Saves the calls of one process: appends them to a file, and moves them into the store."""

    def __init__(self, store: StoreLocation, submit: Submit, write: WriteCallback, *, uses_file: bool) -> None:
        self._store, self._submit, self._write = store, submit, write
        self._uses_file = uses_file
        self._lock = threading.Lock()
        self._file: ReplyFile | None = None
        self._retired: list[ReplyFile] = []
        """Files to which nothing is appended any more; each is deleted when the store has its replies."""
        self._unmoved: list[LogEntry] = []
        self._rows: dict[str, CallRow] = {}
        """The replayable calls among the unmoved ones."""
        self._move: Future[None] | None = None
        """The last move that was submitted."""
        self._move_has_begun = True
        self._no_file = threading.Event()
        """Set when the open file is retired."""
        self._error: StoreError | None = None
        """Why the last move failed; the next caller gets the error."""
        self._direct = GroupCommit(submit, self._save_directly)
        self._saved_directly = False
        self._syncs = ThreadPoolExecutor(1, thread_name_prefix="evalmark-sync")
        self._synced = GroupCommit(self._submit_sync, self._sync)
        self._last_sync = 0.0

    async def write(self, entry: LogEntry) -> None:
        """Save a call and return once it is durable.

        If the task is cancelled meanwhile, the call is saved nevertheless.

        Raises:
            StoreFullError: the disk is full.
            StoreError: the call, or an earlier one that was moved since, cannot be saved.
        """
        self._raise_error()
        file = self._append(entry)
        if file is None:
            await self._direct.write(entry)
        else:
            await self._synced.write(file)

    async def wait_survives(self) -> None:
        """Wait until all earlier calls survive the end of this process.

        Raises:
            StoreError: one of them could not be saved.
        """
        self._raise_error()
        await self._direct.wait_saved()  # calls in a file survive from the start

    def find(self, key: str) -> CallRow | None:
        """Return the replayable call with a key, if the store does not have it yet."""
        return self._rows.get(key)

    def owns(self, id_: str) -> bool:
        """Return whether this process writes the file with an id."""
        return any(file.id == id_ for file in (self._file, *self._retired) if file is not None)

    def drain(self) -> None:
        """Block until the store has every call, or has refused it. Must not be called in the writer thread."""
        self._direct.drain()
        with self._lock:
            if self._unmoved or self._retired:
                self._submit_move()
            move = self._move  # it may be running
        if move is not None:
            with contextlib.suppress(StoreError):  # the calls stay in the file, and the next caller gets the error
                move.result()

    def release(self) -> None:
        """Move all calls into the store and delete the file. The next calls begin a new one."""
        self._direct.drain()
        with self._lock:
            self._retire(self._file)
            self._saved_directly = False
        self.drain()

    def close(self) -> None:
        """End the log. A file whose calls could not be moved stays, and is recovered when the store is opened again."""
        self.release()
        self._synced.drain()
        self._syncs.shutdown()
        for file in self._retired:
            file.close()

    def _append(self, entry: LogEntry) -> ReplyFile | None:
        """Append a call to the file, and return the file; None if none is open."""
        if self._file is None:
            return None
        data = encode_record(entry)
        with store_errors(self._store, needed=len(data), what="a reply"), self._lock:
            if (file := self._file) is None:
                return None
            try:
                file.append(data)
            except OSError:
                if file.is_damaged:
                    self._retire(file)
                raise
            self._unmoved.append(entry)
            if entry.row.ok:
                self._rows[entry.key] = entry.row
            if len(self._unmoved) >= MOVE_AT:
                self._submit_move()
        return file

    def _raise_error(self) -> None:
        """Raise the error of the last move once, and try to move the calls again."""
        if self._error is not None:
            with self._lock:
                error, self._error = self._error, None
                self._submit_move()
            if error is not None:
                raise error

    # In the thread for syncs.

    def _submit_sync(self, act: Callable[[], R]) -> "Future[R]":
        return self._syncs.submit(partial(self._after_pause, act))

    def _after_pause(self, act: Callable[[], R]) -> R:
        """Let further replies gather for the same sync, unless replies are rare."""
        if time.monotonic() - self._last_sync < QUIET:
            time.sleep(SYNC_AFTER)
        return act()

    def _sync(self, files: Sequence[ReplyFile]) -> None:
        self._last_sync = time.monotonic()
        for file in set(files):
            try:
                with store_errors(self._store, what="a reply"):
                    file.sync()
            except StoreError:
                with self._lock:
                    self._retire(file)
                    self._submit_move()
                raise

    # With the lock.

    def _retire(self, file: ReplyFile | None) -> None:
        if file is not None and self._file is file:
            self._retired.append(file)
            self._file = None
            self._no_file.set()

    def _open(self, file: ReplyFile) -> None:
        self._file, self._no_file = file, threading.Event()
        threading.Thread(target=self._move_regularly, args=(self._no_file,), daemon=True).start()

    def _submit_move(self) -> None:
        if self._move_has_begun:
            self._move = self._submit(self._move_calls)
            self._move_has_begun = False

    # In a thread that waits.

    def _move_regularly(self, end: threading.Event) -> None:
        while not end.wait(MOVE_AFTER):
            with self._lock, contextlib.suppress(RuntimeError):  # the store was closed meanwhile
                if self._unmoved:
                    self._submit_move()

    # In the writer thread.

    def _save_directly(self, entries: Sequence[LogEntry]) -> None:
        """Save calls in the store, and open the file if these are not the first ones."""
        file = self._new_file() if self._uses_file and self._saved_directly and self._file is None else None
        self._save(entries, lambda _: None, file)
        self._saved_directly = True
        if file is not None:
            with self._lock:
                self._open(file)

    def _move_calls(self) -> None:
        with self._lock:
            self._move_has_begun = True
            entries, self._unmoved = self._unmoved, []
            file, retired = self._file, tuple(self._retired)
            size = 0 if file is None else file.size
        if not entries and not retired:
            return

        def mark(db: Connection) -> None:
            for each in retired:
                mark_processed(db, each.id, None)
            if file is not None:
                mark_processed(db, file.id, size)

        following = self._new_file() if size > LARGEST_FILE else None
        try:
            self._save(entries, mark, following)
        except StoreError as error:
            with self._lock:
                self._unmoved[:0] = entries
                self._error = error
            raise
        self._end_move(entries, retired, following)

    def _end_move(self, entries: Sequence[LogEntry], retired: Sequence[ReplyFile], following: ReplyFile | None) -> None:
        with self._lock:
            for entry in entries:
                if self._rows.get(entry.key) is entry.row:
                    del self._rows[entry.key]
            self._retired = [file for file in self._retired if file not in retired]
            if following is not None:
                self._retire(self._file)
                self._open(following)
        for file in retired:
            file.remove()

    def _new_file(self) -> ReplyFile | None:
        """Create a file; None if that fails, so that calls are saved in the store directly."""
        if not isinstance(self._store, Path):
            return None
        try:
            return ReplyFile(self._store)
        except OSError:
            return None

    def _save(self, entries: Sequence[LogEntry], mark: Callable[[Connection], None], new: ReplyFile | None) -> None:
        """Save calls in one transaction, with the new file that the next calls are appended to."""

        def further(db: Connection) -> None:
            mark(db)
            if new is not None and isinstance(self._store, Path):
                register(db, self._store, new)

        needed = sum(300 + entry.row.size for entry in entries)
        try:
            self._write(lambda db: save_calls(db, entries, further), f"saving {count(len(entries), 'call')}", needed)
        except BaseException:
            if new is not None:
                new.remove()
            raise
