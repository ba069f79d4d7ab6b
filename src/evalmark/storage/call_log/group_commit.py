"""Writes what many tasks hand in at the same time: whatever has gathered goes into one transaction."""

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
    """Has something done in the one thread that writes, after all that was submitted before."""

    def __call__(self, act: Callable[[], R], /) -> "Future[R]": ...


class GroupCommit(Generic[T]):
    """Saves entries in groups: while one group is on its way to the disk, the next one gathers.

    A task pays for no thread of its own and no sync of its own: one submission to the writer's
    thread takes all that is there, and one call wakes all who wait.
    """

    def __init__(self, submit: Submit, save: Callable[[Sequence[T]], None]) -> None:
        self._submit, self._save = submit, save
        self._lock = threading.Lock()
        self._gathered: list[tuple[T, asyncio.Future[None]]] = []
        self._followers: list[asyncio.Future[None]] = []
        """Of those who hand nothing in, and wait for what is gathered, or else for the group that is on its way."""
        self._going = False
        """Whether a submission is under way, which will see to what gathers meanwhile."""

    async def write(self, entry: T) -> None:
        """Save an entry; when this returns it is saved. One who is cancelled meanwhile has it saved all the same.

        Raises what `save` raises for the group that the entry is part of.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._gathered.append((entry, done))
            idle, self._going = not self._going, True
        if idle:
            self._go()
        await done

    async def wait_saved(self) -> None:
        """Wait until all that was handed in before is saved.

        Raises what `save` raises for the last of it.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            if not self._going:
                return
            self._followers.append(done)
        await done

    def drain(self) -> None:
        """Wait, with the thread, until all that was handed in is saved or refused. Not for the writer's thread."""
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
        """Wake those who wait, and see to what has gathered; others who write have their turn first."""
        with self._lock:
            if not self._gathered:
                waiting += self._followers
                self._followers = []
        loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        for done in waiting:
            loops.setdefault(done.get_loop(), []).append(done)
        for loop, those in loops.items():
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_wake, those, saved.exception())
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
            done.exception()  # one who was cancelled in this very moment never asks, and that is no mistake


def _same(fault: BaseException) -> BaseException:
    """The error for one of many who wait: each raises its own, with a traceback of its own."""
    if not isinstance(fault, StoreError):
        return fault
    own = type(fault)(*fault.args)
    own.__cause__ = fault.__cause__
    return own


def _nothing() -> None:
    """Done when all before it is."""
