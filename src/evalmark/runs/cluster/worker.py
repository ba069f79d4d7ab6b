"""A worker: runs and scores the trials that the coordinator assigns, and requests everything shared from it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from evalmark.core.values.case import Output, ToolCall
from evalmark.core.values.plain_data import plain
from evalmark.core.values.score import Result, Score, Trial
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.work import Conversation, EngineItem, Limits, Work

from .channel import Channel
from .messages import Assign, FinishWork, Ready, SendNow, TicketResult, ToWorker, TrialFinished, WorkerDone, WorkItem

MAX_UNFETCHED = 1_000
"""With more unfetched messages than this, a worker waits: a slow coordinator slows it down."""
SPARE_ITEMS = 1
"""Items that a worker holds beyond those it runs, so that it does not wait for the next one."""


class Worker:
    """Runs trials on one event loop and reports each result with the number of its item.

    `build_work` builds the work from the channel; the worker replaces its trials and its sink by its own.
    """

    def __init__(self, channel: Channel, build_work: Callable[[Channel], Work], limits: Limits) -> None:
        self._channel, self._limits = channel, limits
        self._items = _ItemQueue(lambda: channel.send(Ready(1)))
        self._stop = asyncio.Event()
        self._places: dict[tuple[object, ...], tuple[int, int]] = {}
        self._work = replace(build_work(channel), trials=self._items, sink=self)

    def take(self, messages: Sequence[ToWorker]) -> None:
        """Handle messages of the coordinator, on the worker's event loop."""
        for message in messages:
            if isinstance(message, SendNow | TicketResult):
                self._channel.take(message)
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
        """Run until the coordinator sends no more items, or until no further call is possible."""
        self._channel.send(Ready(self._limits.jobs + SPARE_ITEMS))
        outcome = await run_trials(self._work, self._limits, stop=self._stop)
        self._channel.send(WorkerDone(outcome.reason, outcome.longest_block))

    async def write(self, results: Sequence[Result]) -> None:
        """Report results, without their trials: the coordinator has those."""
        for result in results:
            number, part = self._places.pop(trial_key(result.trial))
            self._channel.send(TrialFinished(number, part, _sendable(result.output), _scores(result.scores)))
        await self._channel.wait_for_space(MAX_UNFETCHED)


def _sendable(output: Output) -> Output:
    """Convert an output to plain data, as the store does, since objects of the user may not be picklable."""
    calls = tuple(map(_call, output.tool_calls))
    turns = tuple(_call(one) if isinstance(one, ToolCall) else one for one in output.transcript)
    value, metadata = plain(output.value), plain(output.metadata)
    return replace(output, value=value, metadata=metadata, tool_calls=calls, transcript=turns)


def _call(call: ToolCall) -> ToolCall:
    return replace(call, arguments=plain(call.arguments), result=plain(call.result))


def _scores(scores: Sequence[Score]) -> tuple[Score, ...]:
    return tuple(replace(score, detail=plain(score.detail)) if score.detail else score for score in scores)


def trials_of(item: WorkItem) -> Sequence[Trial]:
    """Return the trials of an item that get a result."""
    if isinstance(item, Conversation):
        return [trial for turn in item.turns if (trial := _trial(turn)) is not None]
    trial = _trial(item)
    return [] if trial is None else [trial]


def _trial(item: object) -> Trial | None:
    return item if isinstance(item, Trial) else getattr(item, "trial", None)


def trial_key(trial: Trial) -> tuple[object, ...]:
    """Return the key of a trial in its run."""
    return (trial.dataset, trial.position, trial.repeat, trial.mode, trial.target)


class _ItemQueue:
    """An asynchronous iterator of items for the engine's tasks; calls `item_started` for each item taken."""

    def __init__(self, item_started: Callable[[], None]) -> None:
        self._queue: asyncio.Queue[EngineItem | None] = asyncio.Queue()
        self._item_started = item_started

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
            self._queue.put_nowait(None)  # for the next task
            raise StopAsyncIteration
        self._item_started()
        return item
