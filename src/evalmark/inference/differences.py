"""How two targets compare on the cases that both were judged on: the mean difference, how far off it may be, a verdict."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .intervals import LEVEL, Interval, no_interval, wilson
from .means import DIFFERENT, FEW, mean, mean_interval
from .paired import sign_test

MARGIN = 0.05
"""Differences within so much, as a share of all cases, count as none."""

SCORE = "paired score"
"""How the names of Newcombe's intervals begin."""
Case = tuple[str, str]
"""Dataset and case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How one target compares with another, paired by case; a case with repeats counts once, by their mean."""

    first: str
    second: str
    metric: str = ""
    """The metric whose values are compared; empty for the share of tests that hold."""
    n: int
    """Cases on which both were judged."""
    alone: int
    """Cases on which only one of them was."""
    up: int
    """Cases on which the first does better than the second."""
    down: int
    value: float | None
    """The mean of the first minus that of the second, -1 to 1; above 0 the first does better. None without a common case."""
    interval: Interval
    p: float | None
    """Of the exact two-sided sign test over the cases on which they differ; None where there is none."""
    margin: float = MARGIN

    @property
    def outcome(self) -> Literal["better", "worse", "same", "cannot tell"]:
        """What the interval says of the first: all above 0, all below, all within the margin, or none of these.

        The score interval of few cases can leave out 0 where the exact sign test finds nothing: two of two cases, say.
        There both have to agree.
        """
        low, high = self.interval.low, self.interval.high
        if low is None or high is None:
            return "cannot tell"
        if -self.margin <= low and high <= self.margin:
            return "same"
        may_be_luck = self.interval.method.startswith(SCORE) and (self.p is None or self.p >= 1 - self.interval.level)
        if may_be_luck or low <= 0 <= high:
            return "cannot tell"
        return "better" if low > 0 else "worse"


def difference(
    targets: tuple[str, str],
    first: Mapping[Case, float],
    second: Mapping[Case, float],
    level: float = LEVEL,
    margin: float = MARGIN,
) -> Difference:
    """How two `targets` compare, from how well each did on every judged case: 0 to 1, higher is better."""
    both = [case for case in first if case in second]
    pairs = [(first[case], second[case]) for case in both]
    up, down = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    return Difference(
        first=targets[0],
        second=targets[1],
        n=len(both),
        alone=len(first) + len(second) - 2 * len(both),
        up=up,
        down=down,
        value=mean([a - b for a, b in pairs]),
        interval=paired_interval([a for a, _ in pairs], [b for _, b in pairs], level),
        p=sign_test(down, up),
        margin=margin,
    )


def paired_interval(first: list[float], second: list[float], level: float = LEVEL) -> Interval:
    """The interval of mean(first) - mean(second) for paired values from 0 to 1, one pair a case.

    Values that are all 0 or 1, and few or nearly equal ones, get Newcombe's score interval for paired shares (1998,
    method 10), which has a width even where no case differs. For values in between it is a bound, as nothing from 0 to 1
    spreads wider than zeros and ones. Other differences get Student's t.

    >>> found = paired_interval([1.0] * 48 + [0.0] * 2, [1.0] * 36 + [0.0] * 12 + [1.0] * 2)
    >>> round(found.low, 4), round(found.high, 4)
    (0.0569, 0.3404)
    """
    if not first:
        return no_interval("no case was judged on both", level)
    apart = [a - b for a, b in zip(first, second, strict=True)]
    truths = {*first, *second} <= {0.0, 1.0}
    varied = len(apart) - max(map(apart.count, set(apart)))
    if truths or len(apart) < FEW or varied < DIFFERENT:
        return _newcombe(first, second, level, SCORE if truths else f"{SCORE} bound")
    found = mean_interval(apart, level, bounded=False)
    if found.low is None or found.high is None:
        return found
    return Interval(
        low=max(-1.0, found.low), high=min(1.0, found.high), level=level, method="Student's t of differences"
    )


def _newcombe(first: list[float], second: list[float], level: float, method: str) -> Interval:
    n = len(first)
    p, q = math.fsum(first) / n, math.fsum(second) / n
    one, other = wilson(p * n, n, level), wilson(q * n, n, level)
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return one
    phi = _phi(first, second, p, q)

    def reach(mine: float, theirs: float) -> float:
        return math.sqrt(max(0.0, mine * mine - 2 * phi * mine * theirs + theirs * theirs))

    low = p - q - reach(p - one.low, other.high - q)
    high = p - q + reach(one.high - p, q - other.low)
    return Interval(low=max(-1.0, low), high=min(1.0, high), level=level, method=method)


def _phi(first: list[float], second: list[float], p: float, q: float) -> float:
    """The correlation of the pairs, drawn towards 0 where it would make the interval shorter (Newcombe's correction)."""
    spread = p * (1 - p) * q * (1 - q)
    if spread <= 0:
        return 0.0
    together = math.fsum((a - p) * (b - q) for a, b in zip(first, second, strict=True)) / len(first)
    if together > 0:
        together = max(0.0, together - 1 / (2 * len(first)))
    return together / math.sqrt(spread)
