"""The coordinator of a cluster run: assigns items to workers, owns everything they share, and writes all results."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from evalmark.core.text import count
from evalmark.core.values.score import Result
from evalmark.runs.engine.pipeline import ResultWriter
from evalmark.runs.engine.trial import run_scorers
from evalmark.runs.engine.work import EngineItem, EngineOutcome, Limits, ResultCallback, Work

from .messages import WorkerDone
from .remote_calls import CallProxy
from .scheduler import MAX_WORKERS_LOST, WorkQueue
from .services import SharedServices
from .worker_link import WorkerLink
from .worker_pool import NoWorkersError, WorkerHandle, WorkerLostError, WorkerPool

_MAX_FRUITLESS_PER_SLOT = 3
"""How many workers per slot may end in a row before any trial finishes."""
_MIN_FRUITLESS = 4 * MAX_WORKERS_LOST
"""The minimum for all slots together: the first cases may be ones that crash every worker."""
_RETRY_SECONDS = 30.0
"""Seconds between attempts to start a missing worker while others run."""
_EXTRA_GRACE = 5.0
"""Seconds after the grace period of a stop in which workers have to report their end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorConfig:
    """Workers and services of a coordinator."""

    pool: WorkerPool
    calls: CallProxy
    services: SharedServices
    max_items: int
    """The largest number of items that one worker holds."""


async def run_on_workers(
    work: Work,
    limits: Limits,
    config: CoordinatorConfig,
    *,
    stop: asyncio.Event | None = None,
    watch: ResultCallback | None = None,
) -> EngineOutcome:
    """Run every trial on the workers of a pool, and record the results here.

    Once `stop` is set, no more trials are assigned, and the workers get `limits.grace` seconds to finish.

    Raises:
        StoreError: the sink could not write; earlier results are stored.
        NoWorkersError: no worker can be started, or all end before any trial finishes.
    """
    coordinator = Coordinator(work, limits, config, stop or asyncio.Event(), watch)
    return await coordinator.run()


class Coordinator:
    """State of one `run_on_workers` call."""

    def __init__(
        self, work: Work, limits: Limits, config: CoordinatorConfig, stop: asyncio.Event, watch: ResultCallback | None
    ) -> None:
        self.calls, self.services, self.stop = config.calls, config.services, stop
        self.queue = WorkQueue(iter(cast(Iterable[EngineItem], work.trials)), config.max_items)
        self._pool, self._work, self._limits = config.pool, work, limits
        self._recorder = ResultWriter(work, limits, watch)
        self._slots = [_WorkerSlot(self, number) for number in range(config.pool.size)]
        self._ended = asyncio.Event()
        """Set when no more workers are needed."""
        self._vacant: dict[int, NoWorkersError] = {}
        """Slots without a worker, with the error of the last start."""
        self._missed: dict[int, NoWorkersError] = {}
        """Slots that lacked a worker at some time, with the first error."""
        self._left_out = False
        self._reason = ""
        self._longest_block = 0.0
        self._fruitless = 0
        self._lost = 0

    async def run(self) -> EngineOutcome:
        """Run and record all trials."""
        recording = asyncio.create_task(self._recorder.run())
        running = [asyncio.create_task(slot.run()) for slot in self._slots]
        stopping = asyncio.create_task(self._stop_them())
        tasks = [*running, stopping, recording]
        try:
            await _wait_all(running, recording, stopping)
            tasks.append(asyncio.create_task(self.record_ready()))
            await _wait_all(tasks[-1:], recording)
            self._recorder.end()
            await recording
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return EngineOutcome(
            recorded=self._recorder.recorded,
            stopped=self._left_out or not self.queue.is_done,
            reason=self._reason,
            longest_block=self._longest_block,
            notes=(*self._notes(), *self._recorder.notes),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self._lost:
            notes.append(
                f"{count(self._lost, 'worker')} ended during the run. Their cases were assigned to other workers; "
                "calls without a stored reply were sent again."
            )
        if self._missed:
            workers = count(len(self._slots), "worker")
            notes.append(
                f"{len(self._missed)} of {workers} could not be started at some time: {next(iter(self._missed.values()))}"
            )
        return tuple(notes)

    async def _stop_them(self) -> None:
        """Wait for a stop, then for the time that workers have to finish."""
        await self.stop.wait()
        self._left_out = self.queue.close() or self._left_out
        self.notify_all()
        await asyncio.sleep(self._limits.grace + _EXTRA_GRACE)
        self._left_out = True

    def notify_all(self) -> None:
        """Notify every worker link of a change."""
        if self.stop.is_set() or self.queue.is_done:
            self._ended.set()
        for slot in self._slots:
            slot.notify()

    async def put(self, result: Result) -> None:
        """Record a result; waits while the recorder is full."""
        await self._recorder.put(result)
        self._fruitless = 0

    async def record_ready(self) -> None:
        """Record the results that need no worker."""
        results, was_full = self.queue.ready_results, self.queue.is_full
        while results:
            await self._recorder.put(results.popleft())  # queued at once, also if the wait for space is cancelled
        if was_full:
            self.notify_all()

    def worker_done(self, message: WorkerDone, *, left_out: bool) -> None:
        """Note that a worker has finished normally."""
        self._longest_block = max(self._longest_block, message.longest_block)
        self._left_out = self._left_out or left_out or bool(message.reason)
        self._reason = self._reason or message.reason
        if message.reason:
            self.stop.set()

    async def worker_lost(self, slot: int, why: str) -> None:
        """Note that a worker was lost, and assign its items to others.

        Raises:
            NoWorkersError: too many workers were lost in a row without a finished trial.
        """
        self._lost += 1
        self._fruitless += 1
        for given_up in self.queue.worker_lost(slot, why):
            scorers = self._work.scorers if given_up.trial.mode == "single" else self._work.turn_scorers
            scores = await run_scorers(scorers, given_up.trial.case, given_up.output)
            self.queue.ready_results.append(replace(given_up, scores=scores))
        if self._fruitless > max(_MIN_FRUITLESS, _MAX_FRUITLESS_PER_SLOT * len(self._slots)):
            raise NoWorkersError(f"All workers ended before they finished a trial; the last one reported: {why}")
        self.notify_all()

    async def start_worker(self, slot: int) -> WorkerHandle | None:
        """Start a worker for a slot; returns None if none is needed any more.

        Raises:
            NoWorkersError: no slot can get a worker.
            WorkerLostError: it ended while it started.
        """
        while not self._ended.is_set():
            starting = asyncio.create_task(self._pool.start_worker())
            try:
                await self._unless_ended(starting)
                if starting.done() and not self._ended.is_set():
                    self._vacant.pop(slot, None)
                    return starting.result()
            except NoWorkersError as error:
                self._vacant[slot] = error
                self._missed.setdefault(slot, error)  # the first error may be the cause of the later ones
                if len(self._vacant) == len(self._slots):
                    raise
                await self._unless_ended(asyncio.create_task(asyncio.sleep(_RETRY_SECONDS)))
            finally:
                starting.cancel()
        return None

    async def _unless_ended(self, task: "asyncio.Task[Any]") -> None:
        """Wait for a task, or cancel it as soon as no more workers are needed."""
        ended = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            if not task.done():
                task.cancel()


class _WorkerSlot:
    """One place in the pool: starts a worker, and a new one when that is lost."""

    def __init__(self, coordinator: Coordinator, number: int) -> None:
        self._coordinator, self._number = coordinator, number
        self._link: WorkerLink | None = None

    def notify(self) -> None:
        """Notify the link: there may be something to send."""
        if self._link is not None:
            self._link.notify()

    async def run(self) -> None:
        """Keep a worker running until no work is left."""
        while True:
            try:
                handle = await self._coordinator.start_worker(self._number)
                if handle is None:
                    return
                self._link = WorkerLink(self._coordinator, self._number, handle)
                await self._link.run()
            except WorkerLostError as lost:
                self._link = None
                await self._coordinator.worker_lost(self._number, str(lost))
            else:
                return


async def _wait_all(
    tasks: Sequence["asyncio.Task[None]"], recording: "asyncio.Task[None]", stopping: "asyncio.Task[None] | None" = None
) -> None:
    """Wait until all tasks or one of the others finish; raise the error of any of them."""
    others = {recording} if stopping is None else {recording, stopping}
    left = {*tasks}
    while left:
        done, _ = await asyncio.wait(left | others, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        if done & others:
            return
        left -= done
