"""What the two sides of a comparison are called."""

from typing import NamedTuple

from evalmark.core.text import one_line
from evalmark.stats.comparison.change import Comparison, TargetChange

from .numbers import GAP

_LONGEST = 24
"""Characters of a name that stands above numbers."""


class Heads(NamedTuple):
    """The two sides by name: two targets of one run by theirs, else before and now."""

    before: str = "before"
    now: str = "now"
    of_one_run: bool = False

    @property
    def where(self) -> tuple[str, str]:
        """Where something is, on either side."""
        return (f"of {self.before}", f"of {self.now}") if self.of_one_run else ("in the baseline", "in the run")


TWO_RUNS = Heads()


def heads_of(found: Comparison, change: TargetChange) -> Heads:
    """The sides of one target of a comparison, by names that tell them apart."""
    if not found.is_of_one_run:
        return TWO_RUNS
    names = [one_line(name) or GAP for name in (change.against, change.target)]
    short = [one_line(name, _LONGEST) for name in names]
    if short[0] == short[1]:  # they part behind the cut
        short = [name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}" for name in names]
    return Heads(before=short[0], now=short[1], of_one_run=True)
