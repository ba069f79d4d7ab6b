"""Which item is in whose hands: a plain account that waits for nobody."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from evalmark.core.values.case import Output
from evalmark.core.values.score import Result, Trial
from evalmark.runs.engine.pipeline import AnsweredTrial, AnsweredTurn, Conversation, EngineItem

from .messages import Assign, TrialFinished, WorkItem
from .worker import trials_of

MAX_WORKERS_LOST = 5
"""Hands that may end over one item before it is given up."""
_SUSPECT_AFTER = 2
"""Hands that have ended over an item, from which on it is thought to be the reason."""
_MAX_READY_RESULTS = 1_000
"""Results that need no hand and wait to be recorded, from which on nothing further is read."""


_Turns = tuple[Trial | Result | AnsweredTurn | AnsweredTrial, ...]


@dataclass(slots=True, eq=False)
class _OpenItem:
    """An item that is not over yet."""

    number: int
    item: WorkItem
    trials: list[Trial] = field(init=False)
    open: set[int] = field(init=False)
    """Its parts without a result."""
    told: dict[int, Output] = field(default_factory=dict)
    """What its turns were answered."""
    lost: int = 0
    """How many hands in a row ended while they had it, and had nothing done of it."""
    later: _Turns = ()
    """The turns after those of the item, of a conversation whose next turn is tried alone."""

    def __post_init__(self) -> None:
        self.trials = list(trials_of(self.item))
        self.open = set(range(len(self.trials)))

    @property
    def is_suspect(self) -> bool:
        return self.lost >= _SUSPECT_AFTER

    def rest(self, number: int) -> "_OpenItem | None":
        """What is still to be done of it, as an item of its own; None where that is nothing.

        Turns that were answered are what the others build on. Of a suspect, the next turn alone comes first.
        """
        if not isinstance(self.item, Conversation):
            return _OpenItem(number, self.item, lost=self.lost) if self.open else None
        turns = (*self._turns(self.item), *self.later)
        last = next((place for place, turn in enumerate(turns) if not isinstance(turn, AnsweredTurn)), None)
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
            elif part in self.told and not isinstance(turn, Result):  # which is no turn, and is recorded by now
                yield AnsweredTurn(case=self.trials[part].case, output=self.told[part])
            part += 1


@dataclass(slots=True, eq=False)
class _WorkerItems:
    """What one hand has."""

    entries: dict[int, _OpenItem] = field(default_factory=dict)
    """By number."""
    free: int = 0
    """How many more it would like to have."""
    most: int = 0
    """How many it has wanted at a time, at the most."""

    @property
    def has_suspect(self) -> bool:
        return len(self.entries) == 1 and next(iter(self.entries.values())).is_suspect


class WorkQueue:
    """Gives out items, takes results, and gives what a lost hand had to others.

    A hand gets as many items as it says it can begin, so that all hands have something to do, also at the end; and no
    more than `room` are with it, begun or not. An item that has outlived hands twice is a suspect: it is given to a hand
    that has nothing else, so that nothing else is blamed with it.
    """

    def __init__(self, items: Iterator[EngineItem], room: int) -> None:
        self._items, self._room = items, room
        self._lots: dict[int, _WorkerItems] = {}
        self._again: deque[_OpenItem] = deque()
        self._suspects: deque[_OpenItem] = deque()
        self._emptying: set[int] = set()
        """Hands that get nothing more until they have nothing, since suspects wait."""
        self._out = 0
        """Items in hands."""
        self._number = 0
        self.is_dry = False
        """Whether everything was given out at least once."""
        self.aside: deque[Result] = deque()
        """Results that need no hand, to be recorded as they are; while many wait, no new item is read."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return self.is_dry and not self._out and not self._again and not self._suspects

    @property
    def is_full(self) -> bool:
        """Whether no new item is read before results that need no hand are recorded."""
        return len(self.aside) >= _MAX_READY_RESULTS

    def take(self, hand: int) -> list[Assign]:
        """What a hand is to do besides what it has."""
        lot = self._lots.setdefault(hand, _WorkerItems())
        gives = []
        while len(lot.entries) < self._room and lot.free > 0 and (entry := self._next(hand, lot)) is not None:
            lot.entries[entry.number] = entry
            lot.free -= 1
            self._out += 1
            gives.append(Assign(entry.number, entry.item))
        return gives

    def _next(self, hand: int, lot: _WorkerItems) -> _OpenItem | None:
        if lot.has_suspect:
            return None
        if self._suspects and not lot.entries:
            self._emptying.discard(hand)
            return self._suspects.popleft()
        if self._is_to_empty(hand):
            return None
        return self._again.popleft() if self._again else None if self.is_dry else self._fresh()

    def _is_to_empty(self, hand: int) -> bool:
        """Whether a hand is to have nothing else soon: one for each suspect, half of all hands at the most."""
        if not self._suspects:
            self._emptying.clear()
        elif len(self._emptying) < min(len(self._suspects), max(1, len(self._lots) // 2)):
            self._emptying.add(hand)
        return hand in self._emptying

    def _fresh(self) -> _OpenItem | None:
        while not self.is_full:
            item = next(self._items, None)
            if item is None:
                self.is_dry = True
                return None
            if isinstance(item, Result):
                self.aside.append(item)
                continue
            if isinstance(item, Conversation):
                item = replace(item, turns=tuple(item.turns))
            if trials_of(item):
                self._number += 1
                return _OpenItem(self._number, item)
        return None

    def free(self, hand: int, more: int) -> None:
        """A hand would like to have so many items more."""
        lot = self._lots.setdefault(hand, _WorkerItems())
        lot.free += more
        lot.most = max(lot.most, lot.free)

    def is_short(self, hand: int) -> bool:
        """Whether a hand has begun everything that it has."""
        lot = self._lots.get(hand)
        return lot is not None and lot.free == lot.most

    def result(self, hand: int, said: TrialFinished) -> Result | None:
        """The result of a trial; None where it has one already."""
        entry = self._lots[hand].entries.get(said.number)
        if entry is None or said.part not in entry.open:
            return None
        return Result(trial=entry.trials[said.part], output=said.output, scores=said.scores)

    def done(self, hand: int, said: TrialFinished) -> None:
        """The result is about to be durable, so that nobody needs to bring it again."""
        entries = self._lots[hand].entries
        entry = entries[said.number]
        entry.open.discard(said.part)
        entry.told[said.part] = said.output
        if not entry.open:
            del entries[said.number]
            self._out -= 1
            entry.lost = 0
            self._give_back(entry)

    def lose(self, hand: int, why: str) -> list[Result]:
        """A hand has ended: others get what it had. Gives results without scores for what too many have ended over."""
        entries = list(self._lots.pop(hand, _WorkerItems()).entries.values())
        self._emptying.discard(hand)
        self._out -= len(entries)
        given_up: list[Result] = []
        for entry in reversed(entries):
            entry.lost = 1 if entry.told else entry.lost + 1
            if entry.lost >= MAX_WORKERS_LOST:
                given_up += (_given_up(entry, part, why) for part in sorted(entry.open))
                entry.open.clear()
                entry.lost = 0
            self._give_back(entry)
        return given_up

    def _give_back(self, entry: _OpenItem) -> None:
        """Have what is left of an item done, if anything is, before anything new."""
        if (rest := entry.rest(self._number + 1)) is not None:
            self._number += 1
            (self._suspects if rest.is_suspect else self._again).appendleft(rest)

    def close(self) -> bool:
        """Begin nothing more; gives whether anything was left out."""
        left = not self.is_dry or bool(self._again) or bool(self._suspects)
        self.is_dry = True
        self._again.clear()
        self._suspects.clear()
        return left

    def held(self, hand: int) -> int:
        """How many items a hand has."""
        return len(self._lots[hand].entries) if hand in self._lots else 0


def _given_up(entry: _OpenItem, part: int, why: str) -> Result:
    error = f"{entry.lost} workers ended while they had this case, so it is given up; the last one: {why}"
    return Result(trial=entry.trials[part], output=Output(error=error), scores=())
