"""The line from trials to durable results: answer, judge, record, each stage at its own pace."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from evalmark.roles import Scorer, Sink, Target
from evalmark.values import Output, Result, Trial

from .trial import answer, judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may go on at once, and for how long."""

    jobs: int = 10
    """Trials being answered."""
    timeout: float | None = None
    """Seconds for one answer, and for one scorer's word on it; None: no limit."""
    window: int = 2_048
    """Trials being judged; what lets embedders and judges gather large batches."""
    batch: int = 2_000
    """Results written at once, at the most."""
    grace: float = 10.0
    """Seconds that trials under way get to finish once a stop was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What an engine is handed: everything else it needs to know is in here."""

    trials: Iterable[Trial | Result]
    """A Result is recorded as it is: a row that could not be read, say."""
    target: Target
    scorers: Sequence[Scorer]
    sink: Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run of the line ended."""

    recorded: int
    """Results that are durable."""
    stopped: bool
    """True when a stop left trials out."""
    longest_block: float
    """The longest time, in seconds, that something kept the event loop to itself."""


Watch = Callable[[Sequence[Result]], None]


async def run_trials(
    work: Work, limits: Limits = Limits(), *, stop: asyncio.Event | None = None, watch: Watch | None = None
) -> Outcome:
    """Answer, judge and record every trial; `watch` hears of results once they are durable.

    Setting `stop` starts no further trial and gives those under way `limits.grace` seconds.
    Memory does not grow with the number of trials.

    Raises:
        StoreError: the sink could not write; what was acknowledged before is kept.
    """
    line = _Line(work, limits, stop or asyncio.Event(), watch)
    return await line.run()


class _Line:
    """The moving parts of one run; lives as long as `run_trials`."""

    def __init__(self, work: Work, limits: Limits, stop: asyncio.Event, watch: Watch | None) -> None:
        self.work, self.limits, self.stop, self.watch = work, limits, stop, watch
        self.source: Iterator[Trial | Result] = iter(work.trials)
        self.window = asyncio.Semaphore(limits.window)
        self.judging: set[asyncio.Task[None]] = set()
        self.done: asyncio.Queue[Result | None] = asyncio.Queue(limits.window)
        self.recorded = 0
        self.dry = False
        self.left_out = False

    async def run(self) -> Outcome:
        lag = _Lag()
        lagging = asyncio.create_task(lag.watch())
        recording = asyncio.create_task(self._record())
        answering = [asyncio.create_task(self._answer()) for _ in range(self.limits.jobs)]
        try:
            await self._until_done(answering, recording)
        finally:
            lagging.cancel()
            for task in (*answering, *self.judging, recording):
                task.cancel()
            await asyncio.gather(*answering, *self.judging, recording, lagging, return_exceptions=True)
        return Outcome(recorded=self.recorded, stopped=self.left_out or not self.dry, longest_block=lag.longest)

    async def _until_done(self, answering: list[asyncio.Task[None]], recording: asyncio.Task[None]) -> None:
        """Wait for the line to run dry, for a stop and its grace, or for the recorder to break."""
        finishing = asyncio.create_task(self._finish(answering))
        stopping = asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait({finishing, stopping, recording}, return_when=asyncio.FIRST_COMPLETED)
            if not finishing.done() and not recording.done():
                await asyncio.wait(
                    {finishing, recording}, timeout=self.limits.grace, return_when=asyncio.FIRST_COMPLETED
                )
            if finishing.done():
                finishing.result()
            else:
                self.left_out = True
        finally:
            finishing.cancel()
            stopping.cancel()
            await asyncio.gather(finishing, stopping, return_exceptions=True)
        if not recording.done():
            await self.done.put(None)
        await recording

    async def _finish(self, answering: list[asyncio.Task[None]]) -> None:
        await asyncio.gather(*answering)
        while self.judging:
            await asyncio.gather(*self.judging)

    async def _answer(self) -> None:
        """One of `jobs` hands: takes the next trial, asks the target, passes the output on."""
        for item in self.source:
            if isinstance(item, Result):
                await self.done.put(item)
                continue
            await self.window.acquire()
            if self.stop.is_set():
                self.left_out = True
                return
            output = await answer(self.work.target, item.case, self.limits.timeout)
            task = asyncio.create_task(self._judge(item, output))
            self.judging.add(task)
            task.add_done_callback(self.judging.discard)
            if self.stop.is_set():
                return
        self.dry = True

    async def _judge(self, trial: Trial, output: Output) -> None:
        try:
            scores = await judge(self.work.scorers, trial.case, output, self.limits.timeout)
            await self.done.put(Result(trial=trial, output=output, scores=scores))
        finally:
            self.window.release()

    async def _record(self) -> None:
        """Write what has gathered while the last batch was being written; None ends it."""
        while (first := await self.done.get()) is not None:
            batch, more = [first], True
            while more and len(batch) < self.limits.batch and not self.done.empty():
                if (result := self.done.get_nowait()) is None:
                    more = False
                else:
                    batch.append(result)
            await self.work.sink.write(batch)
            self.recorded += len(batch)
            if self.watch is not None:
                self.watch(batch)
            if not more:
                return


class _Lag:
    """Notices when something does not let go of the event loop."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self, every: float = 0.25) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(every)
            self.longest = max(self.longest, loop.time() - before - every)
