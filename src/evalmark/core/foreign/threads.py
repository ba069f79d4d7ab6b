"""Threads for foreign code that may never come back, and that must not keep the process alive.

The threads of asyncio, `concurrent.futures` and anyio are joined when the loop or the
interpreter ends, so one call that hangs would hang the whole command. These are daemons.
"""

import asyncio
import contextlib
import queue
import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

MAX_HANGING = 32
"""Calls given up on that may still be running; with this many, the function is asked no more."""
Work = Callable[[Callable[[], bool]], Any]
"""What is run: gets a question that says whether anybody still waits for the answer."""
IDLE_SECONDS = 10.0
"""Seconds after which a thread without work ends."""


class DaemonThreads:
    """Runs sync calls in daemon threads and lets go of a call when whoever waits for it is cancelled.

    There are as many threads as calls at the same time: limit those, not these.
    """

    def __init__(self, most_hanging: int = MAX_HANGING, idle: float = IDLE_SECONDS) -> None:
        self._most_hanging = most_hanging
        self._seconds = idle
        self._idle: deque[_Worker] = deque()
        self._hanging: set[_Job] = set()

    async def run(self, call: Work) -> Any:
        """What `call` returns or raises, computed in a thread that sees the caller's context variables.

        Raises:
            RuntimeError: too many earlier calls were given up on and still run.
        """
        if len(self._hanging) >= self._most_hanging:
            raise RuntimeError(f"not asked, because {len(self._hanging)} earlier calls still hang")
        context = copy_context()
        job = _Job(lambda is_wanted: context.run(call, is_wanted), self._hanging)
        try:
            hand = self._idle.pop()
        except IndexError:
            hand = _Worker(self._idle, self._seconds)
            hand.start()
        hand.jobs.put(job)
        try:
            return await job.answer
        except asyncio.CancelledError:
            job.abandon()
            raise


class _Job:
    """One call, on its way from a task to a thread and back."""

    def __init__(self, call: Work, hanging: "set[_Job]") -> None:
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._call = call
        self._hanging = hanging
        self._is_finished = False
        self._is_wanted = True

    def do(self) -> Callable[[], None]:
        """Make the call, in the thread; gives what tells the waiting task about it."""
        try:
            tell = partial(self._tell, self.answer.set_result, self._call(lambda: self._is_wanted))
        except BaseException as error:  # noqa: BLE001  foreign code: what it raises belongs to the waiting task
            tell = partial(self._tell, self.answer.set_exception, task_error(error))
        self._is_finished = True
        self._hanging.discard(self)
        return tell

    def abandon(self) -> None:
        """Nobody waits any more; until the call comes back by itself, it counts as hanging."""
        self._is_wanted = False
        self._hanging.add(self)
        if self._is_finished:
            self._hanging.discard(self)

    def _tell(self, settle: Callable[[Any], None], found: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            self.answer.get_loop().call_soon_threadsafe(self._settle, settle, found)

    def _settle(self, settle: Callable[[Any], None], found: Any) -> None:
        if not self.answer.done():
            settle(found)


class _Worker(threading.Thread):
    """One thread: waits on the idle list, works, goes back; ends after a while without work."""

    def __init__(self, idle: "deque[_Worker]", seconds: float) -> None:
        super().__init__(name="evalmark foreign code", daemon=True)
        self.jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._idle, self._seconds = idle, seconds

    def run(self) -> None:
        while (job := self._next()) is not None:
            tell = job.do()
            self._idle.append(self)  # before the answer is known, so that the next call finds this thread
            tell()
            del job, tell

    def _next(self) -> _Job | None:
        """The next job, or None when none came for a while."""
        while True:
            try:
                return self.jobs.get(timeout=self._seconds)
            except queue.Empty:
                with contextlib.suppress(ValueError):  # somebody has just taken it from the list: a job is on its way
                    self._idle.remove(self)
                    return None


def task_error(error: BaseException) -> BaseException:
    """The error as a task can carry it.

    A KeyboardInterrupt that no keyboard made, or a StopIteration, would end the event loop
    instead of the case; these become a RuntimeError that names them.
    """
    if isinstance(error, (Exception, SystemExit)) and not isinstance(error, StopIteration):
        return error
    text = "".join(traceback.format_exception_only(error)).strip()
    found = RuntimeError(f"the function raised {text}")
    found.__cause__ = error
    return found
