"""Maps ids of trials, which labels refer to and no column holds, to row numbers."""

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.values.score import trial_ids
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.fields import from_sql

_HEX = 12


@dataclass(frozen=True, slots=True)
class TrialNumbers:
    """The row number and trial id of each result, in 16 bytes a result."""

    numbers: "array[int]" = field(default_factory=lambda: array("q"))
    ids: "array[int]" = field(default_factory=lambda: array("Q"))
    """As integers; labels have 12 hex digits."""

    def numbered(self, ids: Collection[str]) -> Iterator[tuple[int, str]]:
        """Yield the row number and the trial id of each result with one of these ids."""
        by_number = {int(one, 16): one for one in ids if _is_id(one)}
        if by_number:
            for number, one in zip(self.numbers, self.ids, strict=True):
                if one in by_number:
                    yield number, by_number[one]

    def among(self, numbers: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yield the row number and the trial id, as an integer, of each result with one of these row numbers."""
        chosen = frozenset(numbers)
        return (pair for pair in zip(self.numbers, self.ids, strict=True) if pair[0] in chosen)


def format_trial_id(one: int) -> str:
    """Format a trial id of `TrialNumbers` as labels have it."""
    return f"{one:0{_HEX}x}"


def read_trial_numbers(db: Connection, run: int) -> TrialNumbers:
    """Read the trial ids of a run, including results that no longer belong to it."""
    found = TrialNumbers()
    # an index holds these columns, so no row is read
    sql = "select number, dataset, target, repeat, mode, case_id from result where run = ?"
    ids = {}
    number: Any
    for number, dataset, target, repeat, mode, case in db.execute(sql, (run,)):
        of = dataset, target, repeat, mode
        if of not in ids:
            ids[of] = trial_ids(_text(dataset), _text(target), repeat, mode)
        found.numbers.append(number)
        found.ids.append(int.from_bytes(ids[of](_text(case))[: _HEX // 2]))
    return found


def _text(value: Any) -> str:
    return value if type(value) is str else from_sql(value)


def _is_id(text: str) -> bool:
    return len(text) == _HEX and set(text) <= set("0123456789abcdef")
