"""The work queue of the coordinator: which worker holds which item. Nothing in it waits."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from evalmark.core.values.case import Output
from evalmark.core.values.score import Result, Trial
from evalmark.runs.engine.work import AnsweredTrial, AnsweredTurn, Conversation, EngineItem

from .messages import Assign, TrialFinished, WorkItem
from .worker import trials_of

MAX_WORKERS_LOST = 5
"""How many workers may be lost on one item before it is given up."""
_SUSPECT_AFTER = 2
"""After this many lost workers, an item is suspected to be the cause."""
_MAX_READY_RESULTS = 1_000
"""With this many results waiting to be recorded, no new item is read."""


_Turns = tuple[Trial | Result | AnsweredTurn | AnsweredTrial, ...]


@dataclass(slots=True, eq=False)
class _OpenItem:
    """An item that has not finished."""

    number: int
    item: WorkItem
    trials: list[Trial] = field(init=False)
    open: set[int] = field(init=False)
    """The indices of its trials without a result."""
    outputs: dict[int, Output] = field(default_factory=dict)
    """The outputs of its finished turns."""
    lost: int = 0
    """How many workers in a row were lost with it before they finished a trial of it."""
    later: _Turns = ()
    """The remaining turns of a conversation whose next turn runs alone."""

    def __post_init__(self) -> None:
        self.trials = list(trials_of(self.item))
        self.open = set(range(len(self.trials)))

    @property
    def is_suspect(self) -> bool:
        return self.lost >= _SUSPECT_AFTER

    def rest(self, number: int) -> "_OpenItem | None":
        """Return the unfinished part as a new item, or None.

        Answered turns stay as context of the others. Of a suspect, only the next turn runs first.
        """
        if not isinstance(self.item, Conversation):
            return _OpenItem(number, self.item, lost=self.lost) if self.open else None
        turns = (*self._turns(self.item), *self.later)
        last = next((index for index, turn in enumerate(turns) if not isinstance(turn, AnsweredTurn)), None)
        if last is None:
            return None
        end = last + 1 if self.is_suspect else len(turns)
        return _OpenItem(number, replace(self.item, turns=turns[:end]), lost=self.lost, later=turns[end:])

    def _turns(self, item: Conversation) -> Iterator[Trial | Result | AnsweredTurn | AnsweredTrial]:
        part = 0
        for turn in item.turns:
            if isinstance(turn, AnsweredTurn):
                yield turn
                continue
            if part in self.open:
                yield turn
            elif part in self.outputs and not isinstance(turn, Result):  # a result is recorded already
                yield AnsweredTurn(case=self.trials[part].case, output=self.outputs[part])
            part += 1


@dataclass(slots=True, eq=False)
class _WorkerItems:
    """The items of one worker."""

    entries: dict[int, _OpenItem] = field(default_factory=dict)
    """By number."""
    free: int = 0
    """How many more items it can start."""
    most: int = 0
    """The largest number of items it could start at a time."""

    @property
    def has_suspect(self) -> bool:
        return len(self.entries) == 1 and next(iter(self.entries.values())).is_suspect


class WorkQueue:
    """Assigns items to workers, accepts results, and reassigns the items of lost workers.

    A worker gets as many items as it can start, so that all workers stay busy until the end, and at most `max_items`.
    An item that was lost with two workers is a suspect: it goes to a worker with no other item, so that no other item
    is blamed with it.
    """

    def __init__(self, items: Iterator[EngineItem], max_items: int) -> None:
        self._items, self._max_items = items, max_items
        self._workers: dict[int, _WorkerItems] = {}
        self._retry: deque[_OpenItem] = deque()
        self._suspect_items: deque[_OpenItem] = deque()
        self._emptying: set[int] = set()
        """Workers that get no items until they are idle, because suspects wait for them."""
        self._out = 0
        """The number of assigned items."""
        self._number = 0
        self.is_exhausted = False
        """Whether every item was assigned at least once."""
        self.ready_results: deque[Result] = deque()
        """Results that need no worker and wait to be recorded."""

    @property
    def is_done(self) -> bool:
        """Whether no work is left."""
        return self.is_exhausted and not self._out and not self._retry and not self._suspect_items

    @property
    def is_full(self) -> bool:
        """Whether `ready_results` has to be recorded before new items are read."""
        return len(self.ready_results) >= _MAX_READY_RESULTS

    def take(self, worker: int) -> list[Assign]:
        """Assign further items to a worker."""
        worker_items = self._workers.setdefault(worker, _WorkerItems())
        assignments = []
        while (
            len(worker_items.entries) < self._max_items
            and worker_items.free > 0
            and (entry := self._next(worker, worker_items)) is not None
        ):
            worker_items.entries[entry.number] = entry
            worker_items.free -= 1
            self._out += 1
            assignments.append(Assign(entry.number, entry.item))
        return assignments

    def _next(self, worker: int, worker_items: _WorkerItems) -> _OpenItem | None:
        if worker_items.has_suspect:
            return None
        if self._suspect_items and not worker_items.entries:
            self._emptying.discard(worker)
            return self._suspect_items.popleft()
        if self._is_to_empty(worker):
            return None
        return self._retry.popleft() if self._retry else None if self.is_exhausted else self._read_next()

    def _is_to_empty(self, worker: int) -> bool:
        """Whether a worker gets no new items until it is idle: one worker for each suspect, but at most half of all workers."""
        if not self._suspect_items:
            self._emptying.clear()
        elif len(self._emptying) < min(len(self._suspect_items), max(1, len(self._workers) // 2)):
            self._emptying.add(worker)
        return worker in self._emptying

    def _read_next(self) -> _OpenItem | None:
        while not self.is_full:
            item = next(self._items, None)
            if item is None:
                self.is_exhausted = True
                return None
            if isinstance(item, Result):
                self.ready_results.append(item)
                continue
            if isinstance(item, Conversation):
                item = replace(item, turns=tuple(item.turns))
            if trials_of(item):
                self._number += 1
                return _OpenItem(self._number, item)
        return None

    def free(self, worker: int, more: int) -> None:
        """Note that a worker can start this many more items."""
        worker_items = self._workers.setdefault(worker, _WorkerItems())
        worker_items.free += more
        worker_items.most = max(worker_items.most, worker_items.free)

    def is_idle(self, worker: int) -> bool:
        """Whether a worker has started all its items."""
        worker_items = self._workers.get(worker)
        return worker_items is not None and worker_items.free == worker_items.most

    def result(self, worker: int, message: TrialFinished) -> Result | None:
        """Return the result of a finished trial, or None if it has one already."""
        entry = self._workers[worker].entries.get(message.number)
        if entry is None or message.part not in entry.open:
            return None
        return Result(trial=entry.trials[message.part], output=message.output, scores=message.scores)

    def done(self, worker: int, message: TrialFinished) -> None:
        """Mark a trial as done: its result is being stored."""
        entries = self._workers[worker].entries
        entry = entries[message.number]
        entry.open.discard(message.part)
        entry.outputs[message.part] = message.output
        if not entry.open:
            del entries[message.number]
            self._out -= 1
            entry.lost = 0
            self._give_back(entry)

    def worker_lost(self, worker: int, why: str) -> list[Result]:
        """Reassign the items of a lost worker; return results without scores for the items that are given up."""
        entries = list(self._workers.pop(worker, _WorkerItems()).entries.values())
        self._emptying.discard(worker)
        self._out -= len(entries)
        given_up: list[Result] = []
        for entry in reversed(entries):
            entry.lost = 1 if entry.outputs else entry.lost + 1
            if entry.lost >= MAX_WORKERS_LOST:
                given_up += (_given_up(entry, part, why) for part in sorted(entry.open))
                entry.open.clear()
                entry.lost = 0
            self._give_back(entry)
        return given_up

    def _give_back(self, entry: _OpenItem) -> None:
        """Queue the unfinished part of an item before all new items."""
        if (rest := entry.rest(self._number + 1)) is not None:
            self._number += 1
            (self._suspect_items if rest.is_suspect else self._retry).appendleft(rest)

    def close(self) -> bool:
        """Assign nothing more; return whether anything was left out."""
        left = not self.is_exhausted or bool(self._retry) or bool(self._suspect_items)
        self.is_exhausted = True
        self._retry.clear()
        self._suspect_items.clear()
        return left

    def item_count(self, worker: int) -> int:
        """Return the number of items that a worker holds."""
        return len(self._workers[worker].entries) if worker in self._workers else 0


def _given_up(entry: _OpenItem, part: int, why: str) -> Result:
    error = f"{entry.lost} workers ended while they ran this case, so it is not run again; the last one: {why}"
    return Result(trial=entry.trials[part], output=Output(error=error), scores=())
