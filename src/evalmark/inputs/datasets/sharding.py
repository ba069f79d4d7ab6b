"""Split the cases of an evaluation into shards, one for each of several runs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Shard

from .options import BadRow

MAX_SHARDS = 10_000
"""The most shards of one evaluation."""
_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


def parse_shard(text: str) -> Shard:
    """Parse a shard: `2/4` is the second of four.

    >>> str(parse_shard("2/4"))
    '2/4'

    Raises:
        ConfigError: the text has another form, or there is no such shard.
    """
    match = _SHARD.fullmatch(text)
    if match is None:
        raise ConfigError(f"{text!r} is not a shard; write the second of four as 2/4.")
    number, of = int(match[1]), int(match[2])
    if not 1 <= of <= MAX_SHARDS:
        raise ConfigError(f"{text!r} is not a shard; there can be 1 to {MAX_SHARDS:,} of them.")
    if not 1 <= number <= of:
        raise ConfigError(f"{text!r} is not a shard; shards are numbered from 1/{of} to {of}/{of}.")
    return Shard(number=number, of=of)


@dataclass(slots=True)
class ShardAssignment:
    """Assigns rows to one shard: every n-th row, counted across datasets."""

    shard: Shard
    whole: Sequence[str] | None = None
    """Datasets that are assigned as a whole, in order, since their rows depend on each other; None: assign rows."""
    met: int = 0
    """The number of rows assigned so far."""
    seen: dict[str, str] = field(default_factory=dict)
    """For each dataset, the fingerprint of the rows read so far."""

    def has(self, dataset: str) -> bool:
        """Tell whether the shard can contain rows of a dataset."""
        return self.whole is None or self._is_mine(self.whole.index(dataset))

    def note(self, dataset: str, row: Case | BadRow) -> None:
        """Add a row, of any shard, to the fingerprint of its dataset."""
        content = row.fingerprint if isinstance(row, Case) else row.message
        self.seen[dataset] = fingerprint(self.seen.get(dataset, ""), content)

    def takes_next(self) -> bool:
        """Count one more row, and tell whether it belongs to the shard."""
        if self.whole is not None:
            return True
        self.met += 1
        return self._is_mine(self.met - 1)

    def _is_mine(self, place: int) -> bool:
        return place % self.shard.of == self.shard.number - 1


def shard_sizes(rows: Sequence[int | None], shard: Shard, *, whole: bool) -> list[int | None]:
    """Return the number of rows of each dataset in a shard; None if it depends on an unknown number.

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
    """Return how many of the first `rows` rows belong to a shard."""
    return (rows - shard.number) // shard.of + 1
