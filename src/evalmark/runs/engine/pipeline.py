"""The pipeline from trials to durable results: targets, scorers and the writer run concurrently."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace

from evalmark.core.context.tool_replay import TrialTools
from evalmark.core.context.trial_context import TrialContext, current_trial_context, trial_context
from evalmark.core.errors import RunStoppedError
from evalmark.core.fair_queue import FairQueue
from evalmark.core.protocols import Scorer, Target
from evalmark.core.values.case import Case, Output, Turn
from evalmark.core.values.score import Mode, Result, Trial
from evalmark.storage.results.stored_results import masked_result, masked_results_note

from .trial import call_target, may_wait, run_scorers
from .work import (
    DEFAULT_LIMITS,
    AnsweredTrial,
    AnsweredTurn,
    Conversation,
    EngineItem,
    EngineOutcome,
    Limits,
    ResultCallback,
    Work,
)


async def run_trials(
    work: Work,
    limits: Limits = DEFAULT_LIMITS,
    *,
    stop: asyncio.Event | None = None,
    watch: ResultCallback | None = None,
) -> EngineOutcome:
    """Call targets, score outputs and write results; `watch` is called with results once they are durable.

    Setting `stop` starts no further trial and gives those under way `limits.grace` seconds.
    Memory does not grow with the number of trials.

    Raises:
        StoreError: the sink could not write; what was acknowledged before is kept.
    """
    pipeline = _Pipeline(work, limits, stop or asyncio.Event(), watch)
    return await pipeline.run()


class _Pipeline:
    """The state of one `run_trials`."""

    def __init__(self, work: Work, limits: Limits, stop: asyncio.Event, watch: ResultCallback | None) -> None:
        self.work, self.limits, self.stop = work, limits, stop
        self.source = work.trials if isinstance(work.trials, AsyncIterator) else _AsyncItems(iter(work.trials))
        self.window: FairQueue[None] = FairQueue(self._enter_window, self._leave_window)
        """Trials that wait, because as many outputs as the window allows are being scored."""
        self.free = limits.window
        self.scoring: set[asyncio.Task[None]] = set()
        self.scorers: dict[Mode, Sequence[Scorer]] = {"single": work.scorers, "conversation": work.turn_scorers}
        self.at_once = {mode for mode, scorers in self.scorers.items() if not any(map(may_wait, scorers))}
        """Modes whose scorers never wait: the task that calls the target then scores its output too."""
        self.writer = ResultWriter(work, limits, watch)
        self.source_exhausted = False
        self.left_out = False
        self.reason = ""

    async def run(self) -> EngineOutcome:
        lag = _LoopMonitor()
        monitoring = asyncio.create_task(lag.watch())
        writing = asyncio.create_task(self.writer.run())
        runners = [asyncio.create_task(self._run_items()) for _ in range(self.limits.jobs)]
        try:
            await self._until_done(runners, writing)
        finally:
            monitoring.cancel()
            for task in (*runners, *self.scoring, writing):
                task.cancel()
            await asyncio.gather(*runners, *self.scoring, writing, monitoring, return_exceptions=True)
        stopped = self.left_out or not self.source_exhausted
        return EngineOutcome(
            recorded=self.writer.recorded,
            stopped=stopped,
            longest_block=lag.longest,
            reason=self.reason,
            notes=self.writer.notes,
        )

    async def _until_done(self, runners: list[asyncio.Task[None]], writing: asyncio.Task[None]) -> None:
        """Wait until all trials are done, until a stop and its grace period are over, or until the writer fails."""
        finishing = asyncio.create_task(self._finish(runners))
        stopping = asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait({finishing, stopping, writing}, return_when=asyncio.FIRST_COMPLETED)
            if not finishing.done() and not writing.done():
                await asyncio.wait({finishing, writing}, timeout=self.limits.grace, return_when=asyncio.FIRST_COMPLETED)
            if finishing.done():
                finishing.result()
            else:
                self.left_out = True
        finally:
            finishing.cancel()
            stopping.cancel()
            await asyncio.gather(finishing, stopping, return_exceptions=True)
        self.writer.end()
        await writing

    async def _finish(self, runners: list[asyncio.Task[None]]) -> None:
        await asyncio.gather(*runners)
        # Not in a loop until the set is empty: from Python 3.12 on, `gather` of tasks that are done gives way to no callback.
        await asyncio.gather(*self.scoring)

    async def _run_items(self) -> None:
        """Run trials and conversations, one after the other; one of `jobs` such tasks."""
        async for item in self.source:
            if isinstance(item, Result):
                await self.writer.put(item)
                continue
            if isinstance(item, Conversation):
                await self._converse(item)
            else:
                trial = item.trial if isinstance(item, AnsweredTrial) else item
                await self._run_trial(item, trial.case, self._target(trial.target))
            if self.stop.is_set():
                return
        self.source_exhausted = True

    async def _converse(self, conversation: Conversation) -> None:
        """Run the turns of a conversation in order, each with the earlier turns as its history."""
        shared = self._target(conversation.target)
        target = new_conversation(shared)
        history: tuple[Turn, ...] = ()
        unseen_turns: list[Case] = []
        for item in conversation.turns:
            if isinstance(item, Result):
                await self.writer.put(item)
            elif isinstance(item, AnsweredTurn):
                if target is not shared:  # the target keeps the history itself
                    unseen_turns.append(_after(history, item.case))
                history += _turns(item.case, item.output)
            else:
                turn = item.trial.case if isinstance(item, AnsweredTrial) else item.case
                if isinstance(item, Trial):
                    await self._replay_turns_to_target(target, unseen_turns, item.repeat)
                if (output := await self._run_trial(item, _after(history, turn), target)) is None:
                    return
                history += _turns(turn, output)

    async def _replay_turns_to_target(self, target: Target, unseen_turns: list[Case], repeat: int) -> None:
        """Repeat recorded turns for a target that keeps its own history: the object that saw them no longer exists.

        The outputs are discarded, since those turns are recorded.
        """
        while unseen_turns and not self.stop.is_set():
            case = unseen_turns.pop(0)
            with trial_context(self._uses(repeat, case)):
                try:
                    await call_target(target, case, self.limits.timeout)
                except RunStoppedError as reason:
                    self._end(reason)

    async def _run_trial(self, item: Trial | AnsweredTrial, case: Case, target: Target) -> Output | None:
        """Run the target, pass its output to the scorers, and return the output; None if the run stops."""
        trial = item.trial if isinstance(item, AnsweredTrial) else item
        await self.window.acquire(None)
        if self.stop.is_set():
            self.left_out = True
            return None
        with trial_context(self._uses(trial.repeat, case)):
            try:
                if isinstance(item, AnsweredTrial):
                    output = item.output
                else:
                    output = await call_target(target, case, self.limits.timeout)
            except RunStoppedError as reason:
                self._end(reason)
                return None
            scoring = self._score(trial, case, output)
            if trial.mode in self.at_once:
                await scoring
                return output
            task = asyncio.create_task(scoring)
        self.scoring.add(task)
        task.add_done_callback(self.scoring.discard)
        return output

    def _enter_window(self, _: None = None) -> bool:
        if not self.free:
            return False
        self.free -= 1
        return True

    def _leave_window(self, _: None = None) -> None:
        self.free += 1
        self.window.advance()

    def _target(self, name: str) -> Target:
        return self.work.targets.get(name) or _MissingTarget(name)

    def _uses(self, repeat: int, case: Case) -> TrialContext:
        tools = self.work.tools
        return TrialContext(repeat, None if tools is None else TrialTools(tools, case.input), self.work.get_model)

    async def _score(self, trial: Trial, case: Case, output: Output) -> None:
        try:
            scores = await run_scorers(self.scorers[trial.mode], case, output, self.limits.timeout)
            result = Result(trial=trial, output=output, scores=scores)
            await self.writer.put(result, at_once=current_trial_context().has_unreplayable_call)
        except RunStoppedError as reason:
            self._end(reason)
        finally:
            self._leave_window()

    def _end(self, reason: RunStoppedError) -> None:
        """Stop the run, since no further call can be made; the trial that needed it is left out."""
        self.reason = self.reason or str(reason)
        self.left_out = True
        self.stop.set()


class ResultWriter:
    """Writes results of concurrent tasks in batches, in the order in which they arrive; a task waits while the queue is full."""

    def __init__(self, work: Work, limits: Limits, watch: ResultCallback | None) -> None:
        self.recorded = 0
        """Results that are durable."""
        self._masked = 0
        self._sink, self._batch, self._interval = work.sink, limits.batch, limits.write_interval
        self._many = min(limits.batch, limits.window // 2)
        """Results that are written at once, without waiting for more."""
        self._watch, self._on_verdicts = watch, work.on_verdicts
        self._done: asyncio.Queue[Result | None] = asyncio.Queue()
        self._most = limits.window
        """Queued results from which on the tasks that queue them wait."""
        self._has_space = asyncio.Event()
        self._is_over = False
        self._enough: asyncio.Future[None] | None = None
        """Ends the wait for more results; None: the writer does not wait for more."""
        self._is_urgent = False
        """Whether a queued result does not wait for more."""

    async def put(self, result: Result, *, at_once: bool = False) -> None:
        """Queue a result, then wait while the queue is full. With `at_once` the result does not wait for more results.

        It is queued first, so that no result waits longer than those that came after it.
        """
        self._is_urgent = self._is_urgent or at_once
        self._done.put_nowait(result)
        if at_once or self._done.qsize() >= self._many:
            self._end_wait()
        if self._done.qsize() >= self._most:
            self._has_space.clear()
            await self._has_space.wait()

    def end(self) -> None:
        """Announce the end."""
        self._is_over = True
        if self._done.empty():
            self._done.put_nowait(None)
        self._end_wait()

    def _end_wait(self) -> None:
        if self._enough is not None and not self._enough.done():
            self._enough.set_result(None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the results, for a reader of the run."""
        return masked_results_note(self._masked)

    async def run(self) -> None:
        """Write until the end; each batch has the results that arrived since the last one was taken.

        Raises:
            StoreError: the sink could not write; what was acknowledged before is kept.
        """
        clock, written = asyncio.get_running_loop().time, -math.inf
        while not (self._is_over and self._done.empty()) and (first := await self._done.get()) is not None:
            await self._wait_for_more(written + self._interval)
            written, self._is_urgent = clock(), False
            batch = [first]
            while len(batch) < self._batch and not self._done.empty():
                if (result := self._done.get_nowait()) is not None:
                    batch.append(result)
            if self._done.qsize() < self._most:
                self._has_space.set()
            batch = [*map(masked_result, batch)]  # from here on, it leaves the process
            await self._sink.write(batch)
            self._masked += sum(result.output.masked for result in batch)
            self.recorded += len(batch)
            if self._watch is not None:
                self._watch(batch)
            if self._on_verdicts is not None:
                self._on_verdicts(Counter(result.verdict for result in batch))

    async def _wait_for_more(self, until: float) -> None:
        """Wait until a time of the event loop, until many results wait, or until the end."""
        loop = asyncio.get_running_loop()
        if self._is_over or self._is_urgent or self._done.qsize() >= self._many or until <= loop.time():
            return
        self._enough = loop.create_future()
        alarm = loop.call_at(until, self._end_wait)
        try:
            await self._enough
        finally:
            alarm.cancel()
            self._enough = None


class _AsyncItems:
    """An iterator as an async iterator."""

    def __init__(self, items: Iterator[EngineItem]) -> None:
        self._items = items

    def __aiter__(self) -> "_AsyncItems":
        return self

    async def __anext__(self) -> EngineItem:
        for item in self._items:
            return item
        raise StopAsyncIteration


@dataclass(frozen=True, slots=True)
class _MissingTarget:
    """A placeholder for a target that is not called, since all its outputs are known."""

    name: str

    async def __call__(self, case: Case) -> Output:
        raise LookupError(f"there is no target called {self.name!r} in this run")


def new_conversation(target: Target) -> Target:
    """Return the target without memory of other conversations; unchanged where it has none."""
    begin = getattr(target, "new_conversation", None)
    begun: Target = begin() if callable(begin) else target
    return begun


def _after(history: tuple[Turn, ...], case: Case) -> Case:
    """Return the case with the history before its turn."""
    return replace(case, history=case.history + history)


def _turns(case: Case, output: Output) -> tuple[Turn, ...]:
    """Return the messages that a turn adds to the history of later turns."""
    if output.error is not None:
        return ()
    return (Turn(role="user", content=case.input), Turn(role="assistant", content=output.value))


class _LoopMonitor:
    """Measures how long something blocks the event loop."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self, every: float = 0.25) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(every)
            self.longest = max(self.longest, loop.time() - before - every)
