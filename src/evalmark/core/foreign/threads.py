"""Daemon threads for users' code that may hang and must not keep the process alive.

The threads of asyncio, `concurrent.futures` and anyio are joined when the loop or the interpreter ends, so one hanging
call would hang the whole command.
"""

import asyncio
import contextlib
import inspect
import queue
import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

MAX_HANGING = 32
"""The most abandoned calls that may still be running; at this number, further calls are refused."""
Work = Callable[[Callable[[], bool]], Any]
"""A call to run. Its argument tells whether a caller still waits for the result."""
IDLE_SECONDS = 10.0
"""Seconds after which a thread without work ends."""


class DaemonThreads:
    """Runs synchronous calls in daemon threads, and abandons a call when the waiting task is cancelled.

    There are as many threads as parallel calls; the caller limits those.
    """

    def __init__(self, most_hanging: int = MAX_HANGING, idle: float = IDLE_SECONDS) -> None:
        self._most_hanging = most_hanging
        self._seconds = idle
        self._idle: deque[_Worker] = deque()
        self._hanging: set[_Job] = set()

    async def run(self, call: Work) -> Any:
        """Run `call` in a thread with the caller's context variables, and return or raise what it does.

        Raises:
            RuntimeError: too many abandoned calls are still running.
        """
        if len(self._hanging) >= self._most_hanging:
            raise RuntimeError(f"not called, because {len(self._hanging)} earlier calls still hang")
        context = copy_context()
        job = _Job(lambda is_awaited: context.run(call, is_awaited), self._hanging)
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = _Worker(self._idle, self._seconds)
            worker.start()
        worker.jobs.put(job)
        try:
            return await job.result
        except asyncio.CancelledError:
            job.abandon()
            raise


class _Job:
    """One call, passed from a task to a thread and back."""

    def __init__(self, call: Work, hanging: "set[_Job]") -> None:
        self.result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._call = call
        self._hanging = hanging
        self._is_finished = False
        self._is_awaited = True

    def do(self) -> Callable[[], None]:
        """Make the call, in the thread, and return a function that passes the result to the waiting task."""
        try:
            deliver = partial(self._deliver, self.result.set_result, self._call(lambda: self._is_awaited))
        except BaseException as error:  # noqa: BLE001  foreign code: what it raises belongs to the waiting task
            deliver = partial(self._deliver, self.result.set_exception, task_error(error))
        self._is_finished = True
        self._hanging.discard(self)
        return deliver

    def abandon(self) -> None:
        """Stop waiting for the call; it counts as hanging until it returns."""
        self._is_awaited = False
        self._hanging.add(self)
        if self._is_finished:
            self._hanging.discard(self)

    def _deliver(self, settle: Callable[[Any], None], found: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.result.get_loop().call_soon_threadsafe(self._settle, settle, found)

    def _settle(self, settle: Callable[[Any], None], found: Any) -> None:
        if not self.result.done():
            settle(found)


class _Worker(threading.Thread):
    """A thread that runs jobs, and ends after some seconds without one."""

    def __init__(self, idle: "deque[_Worker]", seconds: float) -> None:
        super().__init__(name="evalmark foreign code", daemon=True)
        self.jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._idle, self._seconds = idle, seconds

    def run(self) -> None:
        while (job := self._next()) is not None:
            deliver = job.do()
            self._idle.append(self)  # before the result is delivered, so that the next call finds this thread
            deliver()
            del job, deliver

    def _next(self) -> _Job | None:
        """Return the next job, or None after the idle time."""
        while True:
            try:
                return self.jobs.get(timeout=self._seconds)
            except queue.Empty:
                with contextlib.suppress(ValueError):  # already taken from the list: a job is about to arrive
                    self._idle.remove(self)
                    return None


def task_error(error: BaseException) -> BaseException:
    """Return the error in a form that a task can raise.

    A StopIteration, or a KeyboardInterrupt raised by code, would end the event loop instead of the case. They become a
    RuntimeError that names them.
    """
    if isinstance(error, (Exception, SystemExit)) and not isinstance(error, StopIteration):
        return error
    text = "".join(traceback.format_exception_only(error)).strip()
    found = RuntimeError(f"the function raised {text}")
    found.__cause__ = error
    return found


def is_async_callable(function: Any) -> bool:
    """Return whether a function, or the `__call__` of an object, is defined with `async def`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
