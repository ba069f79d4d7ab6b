"""Saves the entries of many tasks in common transactions."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Generic, Protocol, TypeVar

from evalmark.core.errors import StoreError

T = TypeVar("T")
R = TypeVar("R")


class Submit(Protocol):
    """Submits a function to the writer thread, after all earlier ones."""

    def __call__(self, act: Callable[[], R], /) -> "Future[R]": ...


class GroupCommit(Generic[T]):
    """Saves entries in groups: while one group is being written, the next one gathers.

    One submission to the writer thread takes all waiting entries, and one call wakes all waiting tasks, so a task
    costs neither a thread nor a sync of its own.
    """

    def __init__(self, submit: Submit, save: Callable[[Sequence[T]], None]) -> None:
        self._submit, self._save = submit, save
        self._lock = threading.Lock()
        self._gathered: list[tuple[T, asyncio.Future[None]]] = []
        self._followers: list[asyncio.Future[None]] = []
        """Futures of tasks that have no entry and wait for all entries before them."""
        self._going = False
        """Whether a submission is running; it also starts the one for entries that gather meanwhile."""

    async def write(self, entry: T) -> None:
        """Save an entry and return once it is saved.

        If the task is cancelled meanwhile, the entry is saved nevertheless.

        Raises what `save` raises for the group of the entry.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._gathered.append((entry, done))
            idle, self._going = not self._going, True
        if idle:
            self._go()
        await done

    async def wait_saved(self) -> None:
        """Wait until all earlier entries are saved.

        Raises what `save` raises for the last group.
        """
        with self._lock:
            if not self._going:
                return
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._followers.append(done)
        await done

    def drain(self) -> None:
        """Block until every entry is saved or refused. Must not be called in the writer thread."""
        while self._going:
            self._submit(_nothing).result()

    def _go(self) -> None:
        waiting: list[asyncio.Future[None]] = []
        self._submit(partial(self._save_gathered, waiting)).add_done_callback(partial(self._end, waiting))

    def _save_gathered(self, waiting: list["asyncio.Future[None]"]) -> None:
        with self._lock:
            group, self._gathered = self._gathered, []
            waiting += [done for _, done in group]
            waiting += self._followers
            self._followers = []
        if group:
            self._save([entry for entry, _ in group])

    def _end(self, waiting: list["asyncio.Future[None]"], saved: "Future[None]") -> None:
        """Wake the waiting tasks, and submit the next group after other writers had their turn."""
        with self._lock:
            if not self._gathered:
                waiting += self._followers
                self._followers = []
        loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        for done in waiting:
            loops.setdefault(done.get_loop(), []).append(done)
        for loop, futures in loops.items():
            with contextlib.suppress(RuntimeError):  # the loop is closed, so no task waits
                loop.call_soon_threadsafe(_wake, futures, saved.exception())
        with self._lock:
            self._going = bool(self._gathered or self._followers)
        if self._going:
            self._go()


def _wake(waiting: Iterable["asyncio.Future[None]"], fault: BaseException | None) -> None:
    for done in waiting:
        if done.done():  # cancelled
            continue
        if fault is None:
            done.set_result(None)
        else:
            done.set_exception(_same(fault))
            done.exception()  # a task that was cancelled just now never retrieves the error


def _same(fault: BaseException) -> BaseException:
    """Return a copy of the error for one of several tasks, so that each raises its own traceback."""
    if not isinstance(fault, StoreError):
        return fault
    own = type(fault)(*fault.args)
    own.__cause__ = fault.__cause__
    return own


def _nothing() -> None:
    """Do nothing; used to wait for the functions submitted before."""
