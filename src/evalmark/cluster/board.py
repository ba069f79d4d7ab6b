"""Which item is in whose hands: a plain account that waits for nobody."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from evalmark.engine import Answered, Conversation, Item, Said
from evalmark.values import Output, Result, Score, Trial

from .hand import trials_of
from .messages import Done, Give, Handed

MOST_LOST = 5
"""Hands that may end over one item before it is given up."""
_SUSPECT = 2
"""Hands that have ended over an item, from which on it is thought to be the reason."""


@dataclass(slots=True, eq=False)
class _Entry:
    """An item that is not over yet."""

    number: int
    item: Handed
    trials: list[Trial]
    open: set[int]
    """Its parts without a result."""
    told: dict[int, Output] = field(default_factory=dict)
    """What its turns were answered."""
    lost: int = 0
    """How many hands ended while they had it."""

    @property
    def is_suspect(self) -> bool:
        return self.lost >= _SUSPECT

    def rest(self, number: int) -> "_Entry":
        """What is still to be done of it, as an item of its own: answered turns are what the others build on."""
        if not self.told:
            return replace(self, number=number)
        item = cast(Conversation, self.item)
        left = [self.trials[part] for part in sorted(self.open)]
        rest = replace(item, turns=tuple(self._turns(item)))
        return _Entry(number, rest, left, set(range(len(left))), lost=self.lost)

    def _turns(self, item: Conversation) -> Iterator[Trial | Result | Said | Answered]:
        part = 0
        for turn in item.turns:
            if isinstance(turn, Said):
                yield turn
                continue
            yield Said(case=self.trials[part].case, output=self.told[part]) if part in self.told else turn
            part += 1


class Board:
    """Gives out items, takes results, and gives what a lost hand had to others.

    An item that has outlived hands twice is a suspect: a hand has one of those at a time, and only that one is blamed
    for its end, so that others are not given up with it.
    """

    def __init__(self, items: Iterator[Item], room: int) -> None:
        self._items, self._room = items, room
        self._held: dict[int, dict[int, _Entry]] = {}
        self._again: deque[_Entry] = deque()
        self._number = 0
        self.is_dry = False
        """Whether everything was given out at least once."""
        self.aside: deque[Result] = deque()
        """Results that need no hand, to be recorded as they are."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return self.is_dry and not self._again and not any(self._held.values())

    def take(self, hand: int) -> list[Give]:
        """What a hand is to do besides what it has, as much as it has room for."""
        held = self._held.setdefault(hand, {})
        gives = []
        while len(held) < self._room and (entry := self._next(held)) is not None:
            held[entry.number] = entry
            gives.append(Give(entry.number, entry.item))
        return gives

    def _next(self, held: dict[int, _Entry]) -> _Entry | None:
        for place, entry in enumerate(self._again):
            if not entry.is_suspect or not any(other.is_suspect for other in held.values()):
                del self._again[place]
                return entry
        return None if self.is_dry else self._fresh()

    def _fresh(self) -> _Entry | None:
        for item in self._items:
            if isinstance(item, Result):
                self.aside.append(item)
                continue
            if isinstance(item, Conversation):
                item = replace(item, turns=tuple(item.turns))
            if trials := list(trials_of(item)):
                self._number += 1
                return _Entry(self._number, item, trials, set(range(len(trials))))
        self.is_dry = True
        return None

    def _anew(self, entry: _Entry) -> _Entry:
        self._number += 1
        return entry.rest(self._number)

    def done(self, hand: int, said: Done) -> Result | None:
        """The result of a trial; None where it has one already."""
        entry = self._held[hand].get(said.number)
        if entry is None or said.part not in entry.open:
            return None
        entry.open.discard(said.part)
        entry.told[said.part] = said.output
        if not entry.open:
            del self._held[hand][said.number]
        return Result(trial=entry.trials[said.part], output=said.output, scores=said.scores)

    def lose(self, hand: int, names: tuple[str, ...], why: str) -> list[Result]:
        """A hand has ended: others get what it had. Gives results for what too many hands have ended over.

        `names` are those of the scores, in order.
        """
        entries = list(self._held.pop(hand, {}).values())
        suspects = [entry for entry in entries if entry.is_suspect]
        for entry in suspects or entries:
            entry.lost += 1
        given_up = [entry for entry in entries if entry.lost >= MOST_LOST]
        self._again.extendleft(self._anew(entry) for entry in reversed(entries) if entry.lost < MOST_LOST)
        return [_given_up(entry, part, names, why) for entry in given_up for part in sorted(entry.open)]

    def close(self) -> bool:
        """Begin nothing more; gives whether anything was left out."""
        left = not self.is_dry or bool(self._again)
        self.is_dry = True
        self._again.clear()
        return left

    def held(self, hand: int) -> int:
        """How many items a hand has."""
        return len(self._held.get(hand, ()))


def _given_up(entry: _Entry, part: int, names: tuple[str, ...], why: str) -> Result:
    error = f"{entry.lost} workers ended while they had this case, so it is given up; the last one: {why}"
    scores = tuple(Score(name=name, status="skipped", reason="the target gave no answer") for name in names)
    return Result(trial=entry.trials[part], output=Output(error=error), scores=scores)
