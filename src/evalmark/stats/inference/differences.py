"""Compares two targets on the cases that both were scored on: the mean difference, its interval, a test and a verdict."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

from .argument_checks import check_arguments
from .dirichlet import METHOD as DIRICHLET
from .dirichlet import dirichlet_interval
from .intervals import LEVEL, Interval, no_interval, wilson
from .means import DIFFERENT, FEW, mean, mean_interval
from .paired import MID_P_SHARE, changed_pairs_test, fewest_changes
from .power import POWER, cases_needed, quantiles, smallest_effect
from .sign_flips import sign_flips

Outcome = Literal["better", "worse", "same", "cannot tell"]
MARGIN = 0.05
"""Differences up to this size, as a share of 1, count as none."""

SCORE = "paired score"
"""The prefix of the names of Newcombe's intervals."""
_TOO_MANY = 10**9
"""More cases than anybody could add."""
_TOO_MANY_ROOT = math.sqrt(_TOO_MANY)
_RANGE = 0.9
"""The level of the intervals from which `needed_range` takes differences and shares."""
_STEPS = 16
"""How many differences `needed_range` looks at on either side."""
_TOO_LARGE = 1e150
"""A spread whose square does not fit into a double."""
Case = tuple[str, str]
"""The dataset and the id of a case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Which cases depend on each other."""

    numbers: Mapping[Case, int]
    """The cluster of each case; cases without one are independent."""
    unit: str = "case"
    """What a cluster is called, such as `document`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference between two targets, paired by case. A case with repeats counts once, by their mean."""

    first: str
    second: str
    metric: str = ""
    """The metric whose values are compared; empty for the pass rate."""
    n: int
    """Cases on which both were scored."""
    alone: int
    """Cases on which only one of them was scored."""
    up: int
    """Cases on which the first target does better than the second."""
    down: int
    value: float | None
    """The mean of the first minus that of the second, from -1 to 1; positive if the first does better. None without
    a common case.
    """
    interval: Interval
    p: float | None
    """The two-sided p-value; None if no case differs."""
    test: str = ""
    """How `p` was computed: `mid-p McNemar` or `exact McNemar` if all values are 0 or 1, otherwise by sign flips; or
    why there is none.
    """
    adjusted: float | None = None
    """`p` adjusted for all simultaneous tests, see `holm`; replaces `p` in the verdict."""
    spread: float | None = None
    """The standard deviation of the difference of one case, which `needed` and `smallest` use."""
    clusters: int | None = None
    """The number of clusters of cases that depend on each other; equal to `n` if no cases do. None: unknown."""
    cluster_size: float = 1.0
    """The mean number of cases of a cluster, weighted by itself, as a cluster with most of the cases makes up most of the mean."""
    margin: float = MARGIN
    bounded: bool = True
    """Whether the values lie between 0 and 1."""
    reach: float | None = 1.0
    """The largest possible difference of one case; for unbounded values, the observed range."""
    worst: "Difference | None" = None
    """The same with every missing value as bad as possible for the first target; None if nothing is missing or
    values are unbounded.
    """
    best: "Difference | None" = None
    """The same with every missing value as good as possible for the first target."""
    missing: int = 0
    """The number of missing values on both sides, see `with_missing`."""
    is_identical: bool = False
    """Whether all outputs and scores of both are known to be identical: then they are the same, however few the cases are."""

    @property
    def verdict_p(self) -> float | None:
        """The p-value that decides the verdict: `adjusted`, or `p` of a single test."""
        return self.p if self.adjusted is None else self.adjusted

    @property
    def outcome(self) -> Outcome:
        """The verdict on the first target, which holds whatever the missing values are.

        The verdict on the known values, `judged_outcome`, counts if it stays `better` with `worst`, `worse`
        with `best`, or `same` with both; otherwise the outcome is `cannot tell`. Unbounded values have no
        worst value, so with missing values they are never `better` or `same`.
        """
        if self.is_identical:
            return "same"
        found = self.judged_outcome
        return found if not self.missing or self._holds(found) else "cannot tell"

    @property
    def swapped(self) -> "Difference":
        """The difference of the second target from the first one."""
        ends = self.interval.ends
        low, high = (None, None) if ends is None else (-ends[1], -ends[0])
        return replace(
            self,
            first=self.second,
            second=self.first,
            up=self.down,
            down=self.up,
            value=None if self.value is None else -self.value,
            interval=replace(self.interval, low=low, high=high),
            worst=None if self.best is None else self.best.swapped,
            best=None if self.worst is None else self.worst.swapped,
        )

    def _holds(self, found: Outcome) -> bool:
        if self.worst is None or self.best is None:
            return found == "worse"
        against = {"better": [self.worst], "worse": [self.best], "same": [self.worst, self.best]}
        return all(other.judged_outcome == found for other in against.get(found, ()))

    @property
    def judged_outcome(self) -> Outcome:
        """The verdict on the first target, based on the known values only.

        `same` if the interval lies within the margin; `better` or `worse` if the interval excludes 0 and the
        test agrees; otherwise `cannot tell`. The interval alone is not enough: with very few cases it can
        exclude 0 although the test finds nothing.
        """
        low, high = self.interval.low, self.interval.high
        if low is None or high is None:
            return "cannot tell"
        if -self.margin <= low and high <= self.margin:
            return "same"
        p = self.verdict_p
        if p is None or p >= 1 - self.interval.level or low <= 0 <= high:
            return "cannot tell"
        return "better" if low > 0 else "worse"

    @property
    def within(self) -> float | None:
        """The smallest margin within which the cases show both targets to be the same, whatever the missing values are; None if there is none."""
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
        """How many more cases would decide, if the difference and its spread are those seen; at least 1.

        None if it is decided or cannot be known.

        It is the smaller of two numbers: cases that find the observed difference with a power of 80 %, and
        cases that show it to lie within the margin. It accounts for the test, which finds nothing in
        fewer than five differing cases. None from a billion cases on, and where values are missing, because
        more cases do not reveal these.
        """
        if self.missing or self.judged_outcome != "cannot tell" or self.value is None or not self.spread:
            return None
        more = self._deciding(self.value, self.spread, (self.up + self.down) / self.n) - self.n
        return max(1, more) if more < _TOO_MANY - self.n else None

    @property
    def needed_range(self) -> tuple[int, int | None] | None:
        """The fewest and the most more cases that would decide, over all differences that these cases leave possible.

        It holds the true number in at least 80 % of undecided comparisons (`benchmarks/planning.py`). Differences,
        and the share of differing cases or the spread, are taken from 90 % intervals around the observed ones. The most
        is None from a billion cases on. None where `needed` is None.
        """
        if self.needed is None or self.value is None or not self.spread:
            return None
        distance = NormalDist().inv_cdf((1 + _RANGE) / 2)
        reach = distance * self.spread / math.sqrt(self.n)
        limit = 1.0 if self.bounded else math.inf
        share = (self.up + self.down) / self.n
        totals = []
        for step in range(-_STEPS, _STEPS + 1):
            value = min(limit, max(-limit, self.value + reach * step / _STEPS))
            if self._is_score:
                possible = [max(one, abs(value)) for one in wilson(self.up + self.down, self.n, _RANGE).ends or ()]
                totals += [self._deciding(value, math.sqrt(one - value**2), one) for one in possible]
            else:
                wider = math.exp(distance / math.sqrt(2 * self.n / self.cluster_size))
                totals += [self._deciding(value, one, share) for one in (self.spread / wider, self.spread * wider)]
        most = max(totals)
        return max(1, min(totals) - self.n), most - self.n if most < _TOO_MANY else None

    def _deciding(self, value: float, spread: float, share: float) -> int:
        """Return the number of cases that decides, if the true difference, spread and share of differing cases are these."""
        room = self.margin - abs(value)
        # both ends have to hold, so each may fail in half as many attempts
        totals = [self._to_tell_apart(abs(value), spread, share), self._to_bound(room, spread, power=(1 + POWER) / 2)]
        return min((total for total in totals if total is not None), default=_TOO_MANY)

    def _to_tell_apart(self, size: float, spread: float, share: float) -> int | None:
        """Return the number of cases after which a difference of `size` would be found."""
        luck = 1 - self.interval.level
        if self.p and self.adjusted:
            luck *= min(
                1.0, self.p / self.adjusted
            )  # the level left to this test after the adjustment for several tests
        total = cases_needed(size, variance=spread**2, level=1 - luck)
        if total is None or not share:
            return None
        total = max(total, math.ceil(fewest_changes(luck, exact=share > MID_P_SHARE) / share * self.cluster_size))
        if not self._is_score and size + 2 * spread / math.sqrt(total) <= self.margin:
            # a difference within the margin counts only if unseen values cannot outweigh it
            return self._to_bound(size, spread, power=POWER)
        return total

    def _to_bound(self, room: float, spread: float, *, power: float) -> int | None:
        """Return the number of cases after which each end of the interval is less than `room` from the true value."""
        level = self.interval.level
        if room <= 0:
            return None
        if self._is_score or self.reach is None:
            return cases_needed(room, variance=spread**2, level=level, power=power)
        # an unseen cluster at the worst end has a weight of log(2 / (1 - level)) / clusters
        unseen = math.log(2 / (1 - level)) * (self.reach + abs(self.value or 0.0)) * self.cluster_size
        chance = quantiles(level, power) * spread
        root = (chance + math.sqrt(chance**2 + 4 * unseen * room)) / (2 * room)
        return math.ceil(root**2) if root < _TOO_MANY_ROOT else None

    @property
    def _is_score(self) -> bool:
        return self.interval.method == SCORE

    @property
    def smallest(self) -> float | None:
        """The smallest difference that this number of cases finds with a power of 80 %.

        For pass and fail it uses the observed share of differing cases; None if even the largest possible
        difference would not be found. A graded difference within the margin is found only if unseen values
        cannot outweigh it.
        """
        level = self.interval.level
        if not self.spread or self.n / self.cluster_size < fewest_changes(1 - level, exact=True):
            return None
        if self._is_score:
            found = smallest_effect(self.n, discordance=(self.up + self.down) / self.n, level=level)
        else:
            found = smallest_effect(self.n, variance=self.spread**2, level=level)
            if found is not None and self.reach is not None:
                unseen = 1 - ((1 - level) / 2) ** (self.cluster_size / self.n)
                found = max(found, min(self.margin, (found + unseen * self.reach) / (1 - unseen)))
        return None if found is None or (self.bounded and found > 1) else found


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
    """Compare two `targets` by their values on each case; higher is better.

    Values lie between 0 and 1 unless `bounded` is false; `margin` has the same unit.

    Args:
        targets: What the two sides are called.
        first: The value of each case, by dataset and id.
        second: The same for the other side; only cases of both are compared.
        level: The confidence level, above 0 and below 1.
        margin: The largest difference that counts as the same.
        bounded: Whether values lie between 0 and 1.

    Returns:
        The mean difference with its interval, test and verdict; above 0 the first is better.

    Raises:
        ValueError: a value is not finite, or not from 0 to 1 where it should be; `level` or `margin` is none.

    >>> cases = [("faq", str(n)) for n in range(40)]
    >>> now = {case: 1.0 for case in cases}
    >>> found = difference(("now", "before"), now, {**now, **dict.fromkeys(cases[:10], 0.0)})
    >>> found.value, found.up, found.outcome
    (0.25, 10, 'better')
    """
    return clustered_difference(targets, (first, second), None, level, margin, bounded=bounded)


@check_arguments
def clustered_difference(
    targets: tuple[str, str],
    values: tuple[Mapping[Case, float], Mapping[Case, float]],
    clusters: Clusters | None,
    level: float = LEVEL,
    margin: float = MARGIN,
    *,
    bounded: bool = True,
) -> Difference:
    """Compare two targets as `difference` does, where cases of one cluster depend on each other.

    A cluster counts once, by the mean of its cases: where a document changed, so did all its questions.

    Raises:
        ValueError: as for `difference`.
    """
    first, second = values
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
    pairs = _paired(one, other, None if clusters is None else [clusters.numbers.get(case, case) for case in both])
    likely = _likely_interval(pairs, level, bounded=bounded)
    p, test = _tested(pairs, bounded=bounded)
    reach = 1.0 if bounded else _range(one, other)
    interval = _chosen(likely, pairs, p, margin, reach)
    if clusters is not None and len(pairs.apart) < len(apart) and interval.known:
        interval = replace(interval, method=f"{interval.method}, clustered by {clusters.unit}")
    spread = _spread(pairs.apart, bound=likely.method.startswith(SCORE)) if len(pairs.apart) > 1 or bounded else None
    squares = None if pairs.sizes is None else math.fsum(size * size for size in pairs.sizes)
    cluster_size = len(apart) / max(1, len(pairs.apart)) if squares is None else squares / len(apart)
    return Difference(
        first=targets[0],
        second=targets[1],
        n=len(both),
        alone=len(first) + len(second) - 2 * len(both),
        up=sum(d > 0 for d in apart),
        down=sum(d < 0 for d in apart),
        value=mean(apart),
        interval=interval,
        p=p,
        test=test,
        spread=None if spread is None else spread * math.sqrt(cluster_size),
        clusters=len(pairs.apart),
        cluster_size=cluster_size,
        margin=margin,
        bounded=bounded,
        reach=reach,
    )


@dataclass(frozen=True, slots=True)
class _IndependentPairs:
    """The values of independent pairs: cases, or the means of clusters of cases."""

    one: list[float]
    other: list[float]
    sizes: list[float] | None
    """The number of cases of each; None if it is the same for all."""

    @property
    def apart(self) -> list[float]:
        return [a - b for a, b in zip(self.one, self.other, strict=True)]


def _paired(one: list[float], other: list[float], clusters: Sequence[Hashable] | None) -> _IndependentPairs:
    groups: dict[Hashable, list[int]] = {}
    for position, cluster in enumerate(range(len(one)) if clusters is None else clusters):
        groups.setdefault(cluster, []).append(position)
    sizes = [float(len(group)) for group in groups.values()]
    first, second = (
        [math.fsum(side[n] for n in group) / len(group) for group in groups.values()] for side in (one, other)
    )
    return _IndependentPairs(first, second, None if len(set(sizes)) < 2 else sizes)


def _likely_interval(pairs: _IndependentPairs, level: float, *, bounded: bool) -> Interval:
    """Return the interval of the mean difference if the differences show how they are spread."""
    if bounded and pairs.sizes is None:
        return paired_interval(pairs.one, pairs.other, level)
    sizes = pairs.sizes or [1.0] * len(pairs.one)
    values, clusters = [], []
    for number, (apart, size) in enumerate(zip(pairs.apart, sizes, strict=True)):
        values += [apart] * int(size)
        clusters += [number] * int(size)
    found = mean_interval(values, level, bounded=False, clusters=clusters)
    if bounded and found.low is not None and found.high is not None:
        found = replace(found, low=max(-1.0, found.low), high=min(1.0, found.high))
    return replace(found, method=found.method.partition(",")[0])


def _chosen(
    likely: Interval, pairs: _IndependentPairs, p: float | None, margin: float, reach: float | None
) -> Interval:
    """Return the interval that the differences support.

    Graded differences get the interval `likely` only if the test finds a difference beyond the margin; its size
    is then estimated. All other statements depend on values that the cases did not show, and need the Dirichlet
    bound.
    """
    if likely.method == SCORE or not pairs.one or reach is None:
        return likely
    is_found = p is not None and p < 1 - likely.level and likely.ends is not None and _counts(likely.ends, margin)
    return likely if is_found else dirichlet_interval(pairs.apart, -reach, reach, likely.level, sizes=pairs.sizes)


def _counts(ends: tuple[float, float], margin: float) -> bool:
    """Return whether an interval excludes 0 and does not lie within the margin."""
    low, high = ends
    return not low <= 0 <= high and (low < -margin or high > margin)


def _range(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the range of the observed values; None if they are all equal, or too large."""
    every = [*one, *other]
    found = max(every, default=0.0) - min(every, default=0.0)
    return found if 0 < found < _TOO_LARGE else None


def _tested(pairs: _IndependentPairs, *, bounded: bool) -> tuple[float | None, str]:
    apart = pairs.apart
    up, down = sum(d > 0 for d in apart), sum(d < 0 for d in apart)
    if (bounded and pairs.sizes is None and _are_truths(pairs.one, pairs.other)) or not up + down:
        return changed_pairs_test(down, up, len(apart))
    flips = sign_flips([d * size for d, size in zip(apart, pairs.sizes or [1.0] * len(apart), strict=True)])
    return flips.p, flips.method


def _spread(apart: Sequence[float], *, bound: bool) -> float | None:
    """Return the standard deviation of the differences; with `bound`, as if one of two more cases had differed by 1."""
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
    """Return the interval of mean(first) - mean(second), for paired values from 0 to 1, one pair for each case.

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
    """Return the correlation of the pairs, shrunk towards 0 if it would shorten the interval (Newcombe's correction)."""
    spread = p * (1 - p) * q * (1 - q)
    if spread <= 0:
        return 0.0
    together = math.fsum((a - p) * (b - q) for a, b in zip(first, second, strict=True)) / len(first)
    if together > 0:
        together = max(0.0, together - 1 / (2 * len(first)))
    return together / math.sqrt(spread)
