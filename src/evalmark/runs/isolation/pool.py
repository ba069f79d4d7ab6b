"""The pool of worker processes: started on demand, killed when they hang."""

import asyncio
import multiprocessing
import queue
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Output
from evalmark.runs.engine.trial import describe_error

from .messages import CaseFinished, ParentReply, ParentRequest, ParentRequestCancelled, RunCase, TargetsLoaded
from .worker import run_worker
from .worker_setup import FILES_CLOSED, MAIN_GUARD, WorkerConfig, without_user_paths

POLL_SECONDS = 0.5
"""Seconds between checks whether a worker still runs, since another process may hold its pipe open."""
EXIT_SECONDS = 2.0
"""Seconds that workers get to exit at the end of the run."""
_EXIT_AFTER_CLOSE = 1.0
"""Seconds that a process gets to exit after it has closed its pipe."""


class WorkerDiedError(EvalmarkError):
    """The worker process of a case ended, or became unusable, before it returned an output."""


class WorkerProcess:
    """One worker process. It runs one case at a time, on the event loop that started it."""

    def __init__(self, config: WorkerConfig) -> None:
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[CaseFinished] | None = None
        self._uses = TrialContext()
        self._waited = 0.0
        self._models: dict[str, ChatModel] = {}
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._end: str | None = None
        """How the process ended, or None while it runs."""
        self.has_left = False
        self.ready: asyncio.Future[TargetsLoaded] = self._loop.create_future()
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        # Not a daemon process, since those may not start children. In this thread, since workers end with it.
        self._process: BaseProcess = context.Process(target=run_worker, args=(theirs, config), name="evalmark worker")
        with without_user_paths(config.users):
            self._process.start()
        theirs.close()
        self._out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        for task in (self._read_all, self._write_all):
            threading.Thread(target=task, name="evalmark worker", daemon=True).start()

    @property
    def is_usable(self) -> bool:
        """Whether it can run a case."""
        return self._end is None and not self.has_left

    @property
    def end(self) -> str:
        """Describe how the process ended."""
        return self._end or "still runs"

    async def run(self, message: RunCase, uses: TrialContext) -> Output:
        """Run a case and return its output; if this is cancelled, the process is killed.

        Raises:
            WorkerDiedError: the process ended before it returned an output.
            RunStoppedError: no further call may be made in this run.
        """
        self._uses, self._models, self._waited = uses, {}, uses.waited()
        self._answer = self._loop.create_future()
        try:
            self._send(message)
            if self._end is not None:  # it ended just now, before the future existed
                self._on_exit(self._end)
            finished = await self._answer
        except BaseException:
            self.kill()
            raise
        finally:
            self._answer = None
            for call in self._calls.values():
                call.cancel()
        self.has_left = finished.is_last
        if (tools := uses.tools) is not None:
            tools.used.clear()  # the output lists them in the order in which the worker used them
            if finished.fault is not None:
                tools.note(finished.fault)
        return finished.output

    def finish(self) -> None:
        """Ask the process to exit."""
        self._out.put(bytes(ForkingPickler.dumps(None)))

    def kill(self) -> None:
        """Kill the process."""
        self.has_left = True
        self._process.kill()
        self._out.put(None)

    def join(self, seconds: float) -> bool:
        """Wait for the process; return whether it has ended within `seconds`."""
        self._process.join(seconds)
        return self._process.exitcode is not None

    def _send(self, message: RunCase | ParentReply) -> None:
        self._out.put(bytes(ForkingPickler.dumps(message)))

    def _write_all(self) -> None:
        """Write messages in a separate thread, since a worker may not read."""
        while (data := self._out.get()) is not None:
            try:
                self._pipe.send_bytes(data)
            except (OSError, ValueError):
                return

    def _read_all(self) -> None:
        """Read messages in a separate thread; at the end, report how the process ended."""
        try:
            while True:
                if wait([self._pipe], POLL_SECONDS):
                    self._take_later(self._receive())
                elif self._process.exitcode is not None:
                    break
        except (OSError, EOFError):
            pass
        self._take_later(partial(self._on_exit, self._how_it_ended()))
        self._out.put(None)

    def _receive(self) -> Callable[[], None]:
        data = self._pipe.recv_bytes()
        try:
            return partial(self._take, ForkingPickler.loads(data))
        except Exception as error:  # noqa: BLE001  foreign code: objects of the user are unpickled here
            error_text = f"the returned value cannot be unpickled outside of its worker process: {describe_error(error)}; return plain data"
            return partial(self._take, CaseFinished(Output(error=error_text), None))

    def _take_later(self, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the run is over
            self._loop.call_soon_threadsafe(call)

    def _how_it_ended(self) -> str:
        if not self.join(_EXIT_AFTER_CLOSE):
            self._process.kill()
            self._process.join()
            return "closed its pipe to the run, and was killed"
        code = self._process.exitcode or 0
        return (
            "lost the files that it needs, because the target closed them"
            if code == FILES_CLOSED
            else describe_exit(code)
        )

    def _take(self, message: TargetsLoaded | CaseFinished | ParentRequest | ParentRequestCancelled) -> None:
        if isinstance(message, TargetsLoaded):
            if not self.ready.done():
                self.ready.set_result(message)
        elif isinstance(message, CaseFinished):
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(message)
        elif isinstance(message, ParentRequest):
            self._calls[message.ticket] = asyncio.create_task(self._do(message, self._uses))
        elif (call := self._calls.get(message.ticket)) is not None:
            call.cancel()

    def _on_exit(self, how: str) -> None:
        self._end = how
        if not self.ready.done():
            self.ready.set_result(TargetsLoaded(f"it {how} while it loaded the target; {MAIN_GUARD}"))
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(WorkerDiedError(f"its worker process {how}"))

    async def _do(self, request: ParentRequest, uses: TrialContext) -> None:
        """Serve a request of the worker, as part of its trial."""
        try:
            with trial_context(uses):
                result: Any = await self._work(request, uses)
        except EvalmarkError as error:
            result = error
        except Exception as error:  # noqa: BLE001  foreign code: a model of the user's may raise anything
            result = RuntimeError(describe_error(error))
        finally:
            self._calls.pop(request.ticket, None)
        self._send(ParentReply(request.ticket, result, uses.waited() - self._waited))

    def _work(self, request: ParentRequest, uses: TrialContext) -> Awaitable[Any]:
        if request.service == "model":
            return self._open_model(request.arguments[0], uses)
        if request.service == "call":
            return self._call(*request.arguments)
        if uses.tools is None:
            raise LookupError("there are no tool recordings here")
        return asyncio.to_thread(getattr(uses.tools.replay, request.service), *request.arguments)

    async def _open_model(self, name: str, uses: TrialContext) -> tuple[str, str]:
        if uses.get_model is None:
            raise ConfigError(f"{name}: chat models are not available to targets here.")
        model = await uses.get_model(name)
        self._models[model.name] = model
        return model.name, model.identity

    async def _call(self, name: str, request: Request) -> Reply:
        return await self._models[name](request)


def describe_exit(code: int) -> str:
    """Describe how a process ended, by its exit code; negative for a signal.

    >>> describe_exit(0), describe_exit(-11)
    ('exited with status 0', 'was ended by SIGSEGV')
    """
    if code >= 0:
        return f"exited with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was ended by {name}" + (" (kill -9, or the system when out of memory)" if name == "SIGKILL" else "")


class ProcessPool:
    """The worker processes of one run, one per concurrent case."""

    def __init__(self, config: WorkerConfig) -> None:
        self._order = config
        self._all: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._lost: list[str] = []

    def lost_ones(self) -> list[str]:
        """Return how idle processes ended."""
        for worker in [worker for worker in self._idle if not worker.is_usable]:
            self._idle.remove(worker)
            self._forget(worker)
        return self._lost

    async def take(self) -> WorkerProcess:
        """Return an idle worker, or start a new one.

        Raises:
            ConfigError: a worker cannot be started, or cannot load the targets.
        """
        while self._idle:
            worker = self._idle.pop()
            if worker.is_usable:
                return worker
            self._forget(worker)
        try:
            worker = WorkerProcess(self._order)
        except (OSError, RuntimeError) as error:
            raise ConfigError(f"--isolate: no worker process can be started: {error}.") from error
        self._all.add(worker)
        try:
            ready = await worker.ready
        except asyncio.CancelledError:
            self._drop(worker)
            raise
        if ready.fault:
            self._drop(worker)
            raise ConfigError(f"--isolate: a worker process cannot load the target: {ready.fault}")
        return worker

    def give_back(self, worker: WorkerProcess) -> None:
        """Return a worker to the pool."""
        if worker.is_usable:
            self._idle.append(worker)
        else:
            self._drop(worker)

    async def close(self) -> None:
        """End all workers."""
        for worker in self._all:
            worker.finish()
        deadline = self._loop_time() + EXIT_SECONDS
        for worker in [*self._all]:
            left = max(0.0, deadline - self._loop_time())
            if not await asyncio.to_thread(worker.join, left):
                worker.kill()
            self._forget(worker)

    def _loop_time(self) -> float:
        return asyncio.get_running_loop().time()

    def _forget(self, worker: WorkerProcess) -> None:
        """Remove a worker, and note if it ended while idle."""
        if not worker.is_usable and not worker.has_left:
            self._lost.append(worker.end)
        self._all.discard(worker)

    def _drop(self, worker: WorkerProcess) -> None:
        worker.kill()
        self._all.discard(worker)
