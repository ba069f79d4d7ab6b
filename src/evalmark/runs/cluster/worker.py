"""A hand: answers and judges the trials that a desk gives it, and asks the desk for everything that is shared."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from evalmark.core.values.case import Output, ToolCall
from evalmark.core.values.plain_data import plain
from evalmark.core.values.score import Result, Score, Trial
from evalmark.runs.engine.pipeline import Conversation, EngineItem, Limits, Work, run_trials

from .channel import Channel
from .messages import Assign, FinishWork, Ready, SendNow, TicketResult, ToWorker, TrialFinished, WorkerDone, WorkItem

MAX_UNFETCHED = 1_000
"""Messages that may wait to be fetched before a hand stops recording, so that a slow desk slows it down."""
SPARE_ITEMS = 1
"""Items that a hand has besides one for each that it does, so that it need not wait for the next one."""


class Worker:
    """Runs trials on one event loop, as the engine does, and reports each result with the number of its item.

    `made` makes the work out of the hand's way to the desk; its trials and its sink are replaced by the hand's own.
    """

    def __init__(self, post: Channel, made: Callable[[Channel], Work], limits: Limits) -> None:
        self._post, self._limits = post, limits
        self._items = _ItemQueue(lambda: post.send(Ready(1)))
        self._stop = asyncio.Event()
        self._places: dict[tuple[object, ...], tuple[int, int]] = {}
        self._work = replace(made(post), trials=self._items, sink=self)

    def take(self, messages: Sequence[ToWorker]) -> None:
        """Hear what the desk says; on the loop of the hand."""
        for message in messages:
            if isinstance(message, SendNow | TicketResult):
                self._post.take(message)
            elif isinstance(message, Assign):
                self._begin(message.number, message.item)
            else:
                self._finish(message)

    def _begin(self, number: int, item: WorkItem) -> None:
        for part, trial in enumerate(trials_of(item)):
            self._places[trial_key(trial)] = (number, part)
        self._items.add(item)

    def _finish(self, message: FinishWork) -> None:
        if message.now:
            self._stop.set()
        self._items.end(now=message.now)

    async def run(self) -> None:
        """Work until the desk says that nothing more comes, or until no further call can be made."""
        self._post.send(Ready(self._limits.jobs + SPARE_ITEMS))
        outcome = await run_trials(self._work, self._limits, stop=self._stop)
        self._post.send(WorkerDone(outcome.reason, outcome.longest_block))

    async def write(self, results: Sequence[Result]) -> None:
        """Report results; the trial of each is known to the desk."""
        for result in results:
            number, part = self._places.pop(trial_key(result.trial))
            self._post.send(TrialFinished(number, part, _sendable(result.output), _scores(result.scores)))
        await self._post.room(MAX_UNFETCHED)


def _sendable(output: Output) -> Output:
    """An output as the store will have it: what a target returns may be an object that no message can hold."""
    calls = tuple(map(_call, output.tool_calls))
    turns = tuple(_call(one) if isinstance(one, ToolCall) else one for one in output.transcript)
    value, metadata = plain(output.value), plain(output.metadata)
    return replace(output, value=value, metadata=metadata, tool_calls=calls, transcript=turns)


def _call(called: ToolCall) -> ToolCall:
    return replace(called, arguments=plain(called.arguments), result=plain(called.result))


def _scores(scores: Sequence[Score]) -> tuple[Score, ...]:
    return tuple(replace(score, detail=plain(score.detail)) if score.detail else score for score in scores)


def trials_of(item: WorkItem) -> Sequence[Trial]:
    """The trials of an item that each have a result of their own."""
    if isinstance(item, Conversation):
        return [trial for turn in item.turns if (trial := _trial(turn)) is not None]
    trial = _trial(item)
    return [] if trial is None else [trial]


def _trial(item: object) -> Trial | None:
    return item if isinstance(item, Trial) else getattr(item, "trial", None)


def trial_key(trial: Trial) -> tuple[object, ...]:
    """Which trial of the run it is."""
    return (trial.dataset, trial.position, trial.repeat, trial.mode, trial.target)


class _ItemQueue:
    """Items as they come, for the engine's many tasks; each gets the next one, and `begun` hears of it."""

    def __init__(self, begun: Callable[[], None]) -> None:
        self._queue: asyncio.Queue[EngineItem | None] = asyncio.Queue()
        self._begun = begun

    def add(self, item: EngineItem) -> None:
        self._queue.put_nowait(item)

    def end(self, *, now: bool) -> None:
        while now and not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    def __aiter__(self) -> "_ItemQueue":
        return self

    async def __anext__(self) -> EngineItem:
        item = await self._queue.get()
        if item is None:
            self._queue.put_nowait(None)  # for the next task that asks
            raise StopAsyncIteration
        self._begun()
        return item
