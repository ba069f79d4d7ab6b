"""How two targets compare on the cases that both were judged on: the mean difference, how far off it may be, a verdict."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .flips import sign_flips
from .intervals import LEVEL, Interval, no_interval, wilson
from .means import DIFFERENT, FEW, mean, mean_interval
from .paired import sign_test
from .power import POWER, cases_needed, smallest_effect

MARGIN = 0.05
"""Differences within so much, as a share of all cases, count as none."""

SCORE = "paired score"
"""How the names of Newcombe's intervals begin."""
MCNEMAR = "exact McNemar"
_NOBODY_HAS = 10**9
"""So many cases are none that anybody could add."""
_TOO_LARGE = 1e150
"""A spread with a square beyond double precision."""
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
    """That so large a difference, either way, is luck; None where no case differs."""
    test: str = ""
    """How `p` was found: `exact McNemar` where all values are 0 or 1, else how signs were flipped; or why there is none."""
    adjusted: float | None = None
    """`p` adjusted for all that was tested beside it, see `holm`; where it is given, it decides instead of `p`."""
    spread: float | None = None
    """The standard deviation of the difference of one case, with which `needed` and `smallest` plan."""
    margin: float = MARGIN
    bounded: bool = True
    """Whether the values can only be from 0 to 1."""

    @property
    def outcome(self) -> Literal["better", "worse", "same", "cannot tell"]:
        """What is said of the first.

        `same` where the interval lies within the margin; `better` or `worse` where it leaves out 0 and the test agrees; else
        `cannot tell`. The interval alone does not do: that of few cases can leave out 0 where the exact test finds nothing, for
        two of two cases, say.
        """
        low, high = self.interval.low, self.interval.high
        if low is None or high is None:
            return "cannot tell"
        if -self.margin <= low and high <= self.margin:
            return "same"
        p = self.p if self.adjusted is None else self.adjusted
        if p is None or p >= 1 - self.interval.level or low <= 0 <= high:
            return "cannot tell"
        return "better" if low > 0 else "worse"

    @property
    def needed(self) -> int | None:
        """How many more cases would decide, at least 1, were they like those seen; None where it is decided or unknowable.

        The fewer of those that find the difference that was seen in four of five attempts, and those that find it within the
        margin. No exact test finds anything in fewer than six cases that differ, which is counted with. None also from a
        billion on.
        """
        if self.outcome != "cannot tell" or self.value is None or not self.spread:
            return None
        variance, room = self.spread**2, self.margin - abs(self.value)
        totals = [self._to_tell_apart(variance)]
        if room > 0:
            # Both ends have to hold, so that each may fail in half as many attempts.
            power = (1 + POWER) / 2
            totals.append(cases_needed(room, variance=variance, level=self.interval.level, power=power))
        more = min((total for total in totals if total is not None), default=_NOBODY_HAS) - self.n
        return max(1, more) if more < _NOBODY_HAS - self.n else None

    def _to_tell_apart(self, variance: float) -> int | None:
        """The cases after which a difference of the value seen would be found, if cases go on to differ as often."""
        luck = 1 - self.interval.level
        if self.p and self.adjusted:
            luck *= min(1.0, self.p / self.adjusted)  # what is left to this test among several
        total = cases_needed(self.value or 0.0, variance=variance, level=1 - luck)
        return total and max(total, math.ceil(_fewest(luck) * self.n / (self.up + self.down)))

    @property
    def smallest(self) -> float | None:
        """The smallest difference that so many cases show in four of five attempts: to be said wherever none was found.

        For pass and fail, at the share of cases seen to differ; None where not even cases that all differ would show any.
        """
        level = self.interval.level
        if not self.spread or self.n < _fewest(1 - level):
            return None
        if self.interval.method == SCORE:
            found = smallest_effect(self.n, discordance=(self.up + self.down) / self.n, level=level)
        else:
            found = smallest_effect(self.n, variance=self.spread**2, level=level)
        return None if found is None or (self.bounded and found > 1) else found


def _fewest(luck: float) -> int:
    """The fewest cases that differ, all the same way, with which an exact two-sided p is below `luck`: six for 0.05."""
    return math.floor(1 - math.log2(luck)) + 1


def difference(
    targets: tuple[str, str],
    first: Mapping[Case, float],
    second: Mapping[Case, float],
    level: float = LEVEL,
    margin: float = MARGIN,
    *,
    bounded: bool = True,
) -> Difference:
    """How two `targets` compare, from how well each did on every judged case: higher is better.

    Values are from 0 to 1 unless `bounded` says otherwise; `margin` is in their unit.
    """
    both = [case for case in first if case in second]
    one, other = [first[case] for case in both], [second[case] for case in both]
    apart = [a - b for a, b in zip(one, other, strict=True)]
    up, down = sum(d > 0 for d in apart), sum(d < 0 for d in apart)
    interval = paired_interval(one, other, level) if bounded else mean_interval(apart, level, bounded=False)
    p, test = _tested(apart, up, down, truths=bounded and _are_truths(one, other))
    return Difference(
        first=targets[0],
        second=targets[1],
        n=len(both),
        alone=len(first) + len(second) - 2 * len(both),
        up=up,
        down=down,
        value=mean(apart),
        interval=interval,
        p=p,
        test=test,
        spread=_spread(apart, bound=interval.method.startswith(SCORE)) if len(apart) > 1 or bounded else None,
        margin=margin,
        bounded=bounded,
    )


def _tested(apart: Sequence[float], up: int, down: int, *, truths: bool) -> tuple[float | None, str]:
    if not up + down:
        return None, "none: no case differs"
    if truths:
        return sign_test(down, up), MCNEMAR
    flips = sign_flips(apart)
    return flips.p, flips.method


def _spread(apart: Sequence[float], *, bound: bool) -> float | None:
    """The standard deviation of differences; of few, or few that differ, as if one in two more cases had differed by 1."""
    centre, n = mean(apart), len(apart)
    if centre is None:
        return None
    away = [d - centre for d in apart]
    found = math.hypot(*away, 1.0) / math.sqrt(n + 2) if bound else math.hypot(*away) / math.sqrt(n - 1)
    return found if found < _TOO_LARGE else None


def _are_truths(first: Sequence[float], second: Sequence[float]) -> bool:
    return {*first, *second} <= {0.0, 1.0}


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
    truths = _are_truths(first, second)
    varied = len(apart) - max(Counter(apart).values())
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
