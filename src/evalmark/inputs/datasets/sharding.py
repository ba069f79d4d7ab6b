"""Shards: cases dealt out to several runs, as cards are, so that each run asks its share and no other."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Shard

from .options import BadRow

MAX_SHARDS = 10_000
"""Shards of one evaluation."""
_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


def parse_shard(text: str) -> Shard:
    """The share that a text means: `2/4` is the second of four.

    >>> str(parse_shard("2/4"))
    '2/4'

    Raises:
        ConfigError: it has another form, or there is no such shard.
    """
    found = _SHARD.fullmatch(text)
    if found is None:
        raise ConfigError(f"{text!r} is no shard; the second of four is 2/4.")
    number, of = int(found[1]), int(found[2])
    if not 1 <= of <= MAX_SHARDS:
        raise ConfigError(f"{text!r} is no shard; there can be 1 to {MAX_SHARDS:,} of them.")
    if not 1 <= number <= of:
        raise ConfigError(f"{text!r} is no shard; they are counted from 1/{of} to {of}/{of}.")
    return Shard(number=number, of=of)


@dataclass(slots=True)
class ShardAssignment:
    """Which rows fall to one shard: every so many-th, counted on from one dataset to the next."""

    shard: Shard
    whole: Sequence[str] | None = None
    """Datasets that are dealt as a whole, in their order, since their rows build on each other; None: rows are dealt."""
    met: int = 0
    """Rows that were dealt so far."""
    seen: dict[str, str] = field(default_factory=dict)
    """By dataset: the fingerprint of the rows that were read so far."""

    def has(self, dataset: str) -> bool:
        """Whether any row of a dataset can fall to the shard."""
        return self.whole is None or self._is_mine(self.whole.index(dataset))

    def note(self, dataset: str, row: Case | BadRow) -> None:
        """Take a row into the fingerprint of its dataset, whoever asks it."""
        content = row.fingerprint if isinstance(row, Case) else row.message
        self.seen[dataset] = fingerprint(self.seen.get(dataset, ""), content)

    def takes_next(self) -> bool:
        """Whether the next row that is wanted falls to the shard."""
        if self.whole is not None:
            return True
        self.met += 1
        return self._is_mine(self.met - 1)

    def _is_mine(self, place: int) -> bool:
        return place % self.shard.of == self.shard.number - 1


def shard_sizes(rows: Sequence[int | None], shard: Shard, *, whole: bool) -> list[int | None]:
    """How many rows of each dataset fall to a shard; None where that rests on a number nobody knows.

    >>> shard_sizes([5, 1, 2], Shard(number=2, of=2), whole=False), shard_sizes([5, None, 2], Shard(number=1, of=2), whole=True)
    ([2, 1, 1], [5, 0, 2])
    """
    found: list[int | None] = []
    before: int | None = 0
    for place, count in enumerate(rows):
        if whole:
            found.append(count if place % shard.of == shard.number - 1 else 0)
        elif before is None or count is None:
            found.append(None)
            before = None
        else:
            found.append(_up_to(before + count, shard) - _up_to(before, shard))
            before += count
    return found


def _up_to(rows: int, shard: Shard) -> int:
    """Of the first so many rows that are dealt, how many fall to a shard."""
    return (rows - shard.number) // shard.of + 1
