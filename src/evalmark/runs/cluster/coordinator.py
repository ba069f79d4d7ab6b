"""The desk of a run: gives work to hands, has the say over everything they share, and alone writes results."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from evalmark.core.values.score import Result
from evalmark.core.values.words import count
from evalmark.runs.engine.pipeline import EngineItem, EngineOutcome, Limits, Work
from evalmark.runs.engine.result_writer import ResultCallback, ResultWriter
from evalmark.runs.engine.trial import run_scorers

from .messages import WorkerDone
from .remote_calls import CallProxy
from .scheduler import MAX_WORKERS_LOST, WorkQueue
from .services import SharedServices
from .worker_link import WorkerLink
from .worker_pool import NoWorkersError, WorkerHandle, WorkerLostError, WorkerPool

_MAX_FRUITLESS_PER_SLOT = 3
"""Hands a seat that may end one after the other before anything is done."""
_MIN_FRUITLESS = 4 * MAX_WORKERS_LOST
"""The same for all seats together, where these are few: the first cases may be some that no hand survives."""
_RETRY_SECONDS = 30.0
"""Seconds after which a hand is asked for once more where none could be had, while others are at work."""
_EXTRA_GRACE = 5.0
"""Seconds beyond the grace of a stop in which hands have to say that they are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorConfig:
    """What a desk needs besides the work itself."""

    crew: WorkerPool
    errands: CallProxy
    offers: SharedServices
    room: int
    """Items that one hand has at a time."""


async def run_on_workers(
    work: Work,
    limits: Limits,
    duty: CoordinatorConfig,
    *,
    stop: asyncio.Event | None = None,
    watch: ResultCallback | None = None,
) -> EngineOutcome:
    """Have every trial answered and judged by the hands of a crew, and record the results here.

    Setting `stop` gives out no further trial and lets the hands finish within `limits.grace` seconds.

    Raises:
        StoreError: the sink could not write; what was acknowledged before is kept.
        CrewError: there are no hands, or they end before they have done anything.
    """
    desk = Coordinator(work, limits, duty, stop or asyncio.Event(), watch)
    return await desk.run()


class Coordinator:
    """The moving parts of one run; lives as long as `run_elsewhere`."""

    def __init__(
        self, work: Work, limits: Limits, duty: CoordinatorConfig, stop: asyncio.Event, watch: ResultCallback | None
    ) -> None:
        self.duty, self.stop = duty, stop
        self.board = WorkQueue(iter(cast(Iterable[EngineItem], work.trials)), duty.room)
        self._work, self._limits = work, limits
        self._recorder = ResultWriter(work.sink, watch, limits.window, limits.batch)
        self._seats = [_WorkerSlot(self, number) for number in range(duty.crew.size)]
        self._ended = asyncio.Event()
        """No further hand is needed."""
        self._vacant: dict[int, NoWorkersError] = {}
        """Seats for which there is no hand."""
        self._missed: dict[int, NoWorkersError] = {}
        """Those for which there was none at some time."""
        self._left_out = False
        self._reason = ""
        self._longest_block = 0.0
        self._fruitless = 0
        self._lost = 0

    async def run(self) -> EngineOutcome:
        """Have everything done and recorded."""
        recording = asyncio.create_task(self._recorder.run())
        sitting = [asyncio.create_task(seat.run()) for seat in self._seats]
        stopping = asyncio.create_task(self._stop_them())
        tasks = [*sitting, stopping, recording]
        try:
            await _wait_all(sitting, recording, stopping)
            tasks.append(asyncio.create_task(self.put_aside()))
            await _wait_all(tasks[-1:], recording)
            self._recorder.end()
            await recording
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return EngineOutcome(
            recorded=self._recorder.recorded,
            stopped=self._left_out or not self.board.is_done,
            reason=self._reason,
            longest_block=self._longest_block,
            notes=(*self._notes(), *self._recorder.notes),
        )

    def _notes(self) -> tuple[str, ...]:
        said = []
        if self._lost:
            said.append(
                f"{count(self._lost, 'worker')} ended while the run went on; what they had in hand was given to others, "
                "and asked again where no reply was kept."
            )
        if self._missed:
            wanted = count(len(self._seats), "worker")
            said.append(
                f"{len(self._missed)} of {wanted} could not be had at some time: {next(iter(self._missed.values()))}"
            )
        return tuple(said)

    async def _stop_them(self) -> None:
        """Return when hands had their time to finish, after a stop."""
        await self.stop.wait()
        self._left_out = self.board.close() or self._left_out
        self.ring_all()
        await asyncio.sleep(self._limits.grace + _EXTRA_GRACE)
        self._left_out = True

    def ring_all(self) -> None:
        """Something has changed that concerns every hand."""
        if self.stop.is_set() or self.board.is_done:
            self._ended.set()
        for seat in self._seats:
            seat.ring()

    async def put(self, result: Result) -> None:
        """Have a result recorded; returns when there is room for it."""
        await self._recorder.put(result)
        self._fruitless = 0

    async def put_aside(self) -> None:
        """Have results recorded that need no hand."""
        aside, was_full = self.board.aside, self.board.is_full
        while aside:
            result = aside.popleft()
            try:
                await self._recorder.put(result)
            except asyncio.CancelledError:
                aside.appendleft(result)
                raise
        if was_full:
            self.ring_all()

    def over(self, message: WorkerDone, *, left_out: bool) -> None:
        """A hand has come to its end by itself."""
        self._longest_block = max(self._longest_block, message.longest_block)
        self._left_out = self._left_out or left_out or bool(message.reason)
        self._reason = self._reason or message.reason
        if message.reason:
            self.stop.set()

    async def lose(self, seat: int, why: str) -> None:
        """A hand has ended before: others do what it had.

        Raises:
            CrewError: too many have, and nothing was done meanwhile.
        """
        self._lost += 1
        self._fruitless += 1
        for given_up in self.board.lose(seat, why):
            scorers = self._work.scorers if given_up.trial.mode == "single" else self._work.turn_scorers
            scores = await run_scorers(scorers, given_up.trial.case, given_up.output)
            self.board.aside.append(replace(given_up, scores=scores))
        if self._fruitless > max(_MIN_FRUITLESS, _MAX_FRUITLESS_PER_SLOT * len(self._seats)):
            raise NoWorkersError(f"Workers end before they have done anything; the last one said: {why}")
        self.ring_all()

    async def hired(self, seat: int) -> WorkerHandle | None:
        """A hand for a seat; None where none is needed any more.

        Raises:
            CrewError: no hand can be had for any seat.
            HandLostError: it ended while it was getting ready.
        """
        while not self._ended.is_set():
            hiring = asyncio.create_task(self.duty.crew.hire())
            try:
                await self._unless_ended(hiring)
                if hiring.done() and not self._ended.is_set():
                    self._vacant.pop(seat, None)
                    return hiring.result()
            except NoWorkersError as error:
                self._vacant[seat] = error
                self._missed.setdefault(seat, error)  # what was wrong first may be why there is no room now
                if len(self._vacant) == len(self._seats):
                    raise
                await self._unless_ended(asyncio.create_task(asyncio.sleep(_RETRY_SECONDS)))
            finally:
                hiring.cancel()
        return None

    async def _unless_ended(self, task: "asyncio.Task[Any]") -> None:
        """Return when a task is done, or when no further hand is needed; then the task is cancelled."""
        ended = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            if not task.done():
                task.cancel()


class _WorkerSlot:
    """A place for a hand, and for whoever takes its place when it ends."""

    def __init__(self, desk: Coordinator, number: int) -> None:
        self._desk, self._number = desk, number
        self._talk: WorkerLink | None = None

    def ring(self) -> None:
        """There may be something to tell."""
        if self._talk is not None:
            self._talk.ring()

    async def run(self) -> None:
        """Have a hand here until nothing is left to do."""
        while True:
            try:
                member = await self._desk.hired(self._number)
                if member is None:
                    return
                self._talk = WorkerLink(self._desk, self._number, member)
                await self._talk.run()
            except WorkerLostError as lost:
                self._talk = None
                await self._desk.lose(self._number, str(lost))
            else:
                return


async def _wait_all(
    tasks: Sequence["asyncio.Task[None]"], recording: "asyncio.Task[None]", stopping: "asyncio.Task[None] | None" = None
) -> None:
    """Return when all tasks are done, or when one of the others is; raises what any of them raises."""
    others = {recording} if stopping is None else {recording, stopping}
    left = {*tasks}
    while left:
        done, _ = await asyncio.wait(left | others, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        if done & others:
            return
        left -= done
