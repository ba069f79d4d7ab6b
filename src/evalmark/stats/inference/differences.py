"""How two targets compare on the cases that both were judged on: the mean difference, how far off it may be, a verdict."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .argument_checks import check_arguments
from .dirichlet import METHOD as DIRICHLET
from .dirichlet import dirichlet_interval
from .intervals import LEVEL, Interval, no_interval, wilson
from .means import DIFFERENT, FEW, mean, mean_interval
from .paired import sign_test
from .power import POWER, cases_needed, quantiles, smallest_effect
from .sign_flips import sign_flips

Outcome = Literal["better", "worse", "same", "cannot tell"]
MARGIN = 0.05
"""Differences within so much, as a share of all cases, count as none."""

SCORE = "paired score"
"""How the names of Newcombe's intervals begin."""
MCNEMAR = "exact McNemar"
_NOBODY_HAS = 10**9
"""So many cases are none that anybody could add."""
_TOO_MANY_ROOT = math.sqrt(_NOBODY_HAS)
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
    reach: float | None = 1.0
    """The largest difference that one case can have; for values without known ends, the range of those seen."""
    worst: "Difference | None" = None
    """The same with every missing value as bad as possible for the first; None where nothing is missing, or where values
    have no known ends."""
    best: "Difference | None" = None
    """The same with every missing value as good as possible for the first."""
    missing: int = 0
    """Values that are missing on either side, see `with_missing`."""

    @property
    def outcome(self) -> Outcome:
        """The verdict on the first, which holds whatever the missing values are.

        The verdict of the judged values, `judged_outcome`, counts where it is `better` also with `worst`, `worse` also with
        `best`, or `same` with both; else it is `cannot tell`. Without known ends there is no worst value: such values are
        never `better` or `same` where some are missing.
        """
        found = self.judged_outcome
        return found if not self.missing or self._holds(found) else "cannot tell"

    def _holds(self, found: Outcome) -> bool:
        if self.worst is None or self.best is None:
            return found == "worse"
        against = {"better": [self.worst], "worse": [self.best], "same": [self.worst, self.best]}
        return all(other.judged_outcome == found for other in against.get(found, ()))

    @property
    def judged_outcome(self) -> Outcome:
        """The verdict on the first by the judged values alone.

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
    def within(self) -> float | None:
        """The smallest margin within which these cases show both to be the same; None where they show none.

        Whatever the missing values are, both are the same within it.
        """
        if self.missing:
            ends = [None if one is None else one.within for one in (self.worst, self.best)]
            known = [end for end in ends if end is not None]
            return max(known) if len(known) == len(ends) else None
        low, high = self.interval.low, self.interval.high
        if low is None or high is None or not self.interval.method.startswith((SCORE, DIRICHLET)):
            return None
        return max(-low, high)

    @property
    def needed(self) -> int | None:
        """How many more cases would decide, at least 1, were they like those seen; None where it is decided or unknowable.

        The fewer of those that find the difference that was seen in four of five attempts, and those that find it within the
        margin. No exact test finds anything in fewer than six cases that differ, which is counted with. None also from a
        billion on, and where values are missing, as more cases do not tell what these are.
        """
        if self.missing or self.judged_outcome != "cannot tell" or self.value is None or not self.spread:
            return None
        room = self.margin - abs(self.value)
        # Both ends have to hold, so that each may fail in half as many attempts.
        totals = [self._to_tell_apart(), self._to_bound(room, power=(1 + POWER) / 2)]
        more = min((total for total in totals if total is not None), default=_NOBODY_HAS) - self.n
        return max(1, more) if more < _NOBODY_HAS - self.n else None

    def _to_tell_apart(self) -> int | None:
        """The cases after which a difference of the value seen would be found, if cases go on to differ as often."""
        luck, size, spread = 1 - self.interval.level, abs(self.value or 0.0), self.spread or 0.0
        if self.p and self.adjusted:
            luck *= min(1.0, self.p / self.adjusted)  # what is left to this test among several
        total = cases_needed(size, variance=spread**2, level=1 - luck)
        if total is None:
            return None
        total = max(total, math.ceil(_fewest(luck) * self.n / (self.up + self.down)))
        if not self._is_score and size + 2 * spread / math.sqrt(total) <= self.margin:
            return self._to_bound(size, power=POWER)  # too small to count, unless nothing unseen could outweigh it
        return total

    def _to_bound(self, room: float, *, power: float) -> int | None:
        """The cases after which an end of the interval would be less than `room` from the value seen."""
        spread, level = self.spread or 0.0, self.interval.level
        if room <= 0:
            return None
        if self._is_score or self.reach is None:
            return cases_needed(room, variance=spread**2, level=level, power=power)
        # A value at the worst end that no case showed weighs log(2 / (1 - level)) / n of all.
        unseen = math.log(2 / (1 - level)) * (self.reach + abs(self.value or 0.0))
        chance = quantiles(level, power) * spread
        root = (chance + math.sqrt(chance**2 + 4 * unseen * room)) / (2 * room)
        return math.ceil(root**2) if root < _TOO_MANY_ROOT else None

    @property
    def _is_score(self) -> bool:
        return self.interval.method == SCORE

    @property
    def smallest(self) -> float | None:
        """The smallest difference that so many cases show in four of five attempts: to be said wherever none was found.

        For pass and fail, at the share of cases seen to differ; None where not even cases that all differ would show any.
        A graded difference that lies within the margin shows only where nothing unseen could outweigh it.
        """
        level = self.interval.level
        if not self.spread or self.n < _fewest(1 - level):
            return None
        if self._is_score:
            found = smallest_effect(self.n, discordance=(self.up + self.down) / self.n, level=level)
        else:
            found = smallest_effect(self.n, variance=self.spread**2, level=level)
            if found is not None and self.reach is not None:
                unseen = 1 - ((1 - level) / 2) ** (1 / self.n)
                found = max(found, min(self.margin, (found + unseen * self.reach) / (1 - unseen)))
        return None if found is None or (self.bounded and found > 1) else found


def _fewest(luck: float) -> int:
    """The fewest cases that differ, all the same way, with which an exact two-sided p is below `luck`: six for 0.05."""
    return math.floor(1 - math.log2(luck)) + 1


@check_arguments
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

    Raises:
        ValueError: a value is not finite, or not from 0 to 1 where it should be; `level` or `margin` is none.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if margin < 0:
        raise ValueError(f"margin must not be below 0, got {margin!r}")
    for name, side in (("first", first), ("second", second)):
        if bounded and not all(0 <= value <= 1 for value in side.values()):
            raise ValueError(f"{name}: values called bounded must be from 0 to 1")
    both = [case for case in first if case in second]
    one, other = [first[case] for case in both], [second[case] for case in both]
    apart = [a - b for a, b in zip(one, other, strict=True)]
    up, down = sum(d > 0 for d in apart), sum(d < 0 for d in apart)
    likely = paired_interval(one, other, level) if bounded else mean_interval(apart, level, bounded=False)
    p, test = _tested(apart, up, down, truths=bounded and _are_truths(one, other))
    reach = 1.0 if bounded else _range(one, other)
    return Difference(
        first=targets[0],
        second=targets[1],
        n=len(both),
        alone=len(first) + len(second) - 2 * len(both),
        up=up,
        down=down,
        value=mean(apart),
        interval=_chosen(likely, apart, p, margin, reach),
        p=p,
        test=test,
        spread=_spread(apart, bound=likely.method.startswith(SCORE)) if len(apart) > 1 or bounded else None,
        margin=margin,
        bounded=bounded,
        reach=reach,
    )


def _chosen(likely: Interval, apart: Sequence[float], p: float | None, margin: float, reach: float | None) -> Interval:
    """The interval that the differences support.

    Graded differences get `likely` only where the test finds one that is not within the margin: it tells how large that is.
    Everything else that is said of them rests on what the cases did not show, and needs the bound that counts with it.
    """
    if likely.method == SCORE or not apart or reach is None:
        return likely
    is_found = p is not None and p < 1 - likely.level and likely.ends is not None and _counts(likely.ends, margin)
    return likely if is_found else dirichlet_interval(apart, -reach, reach, likely.level)


def _counts(ends: tuple[float, float], margin: float) -> bool:
    """Whether an interval leaves out 0 and does not lie within the margin."""
    low, high = ends
    return not low <= 0 <= high and (low < -margin or high > margin)


def _range(one: Sequence[float], other: Sequence[float]) -> float | None:
    """How far apart two of the values seen can be; None where they are all the same, or too far apart to reckon with."""
    every = [*one, *other]
    found = max(every, default=0.0) - min(every, default=0.0)
    return found if 0 < found < _TOO_LARGE else None


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


@check_arguments
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
