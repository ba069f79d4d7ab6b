"""Tests whether scores come from another distribution than earlier ones."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from .argument_checks import check_arguments
from .means import FEW, clustered_error

POINTS = 20
"""The largest number of points of a distribution; as quantiles they are exact enough for both tests."""
_DIGITS = 6
"""Scores are compared to this many digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDistribution:
    """How many scores lie at or below each of some points."""

    points: tuple[float, ...]
    """In ascending order; the last one is the highest score."""
    counts: tuple[int, ...]
    """The number of scores above the previous point, up to each point."""
    is_exact: bool
    """Whether every score equals a point; otherwise scores between two points are counted at the upper one."""
    effective: float
    """The number of independent scores with the same information; lower than `n` if scores of one case resemble each other."""

    @property
    def n(self) -> int:
        """The number of scores."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionShift:
    """A test whether later scores come from the same distribution as earlier ones."""

    p: float
    """How probable so large a difference is if they do."""
    higher: float
    """How probable it is that a later score is higher than an earlier one; ties count as one half."""
    apart: float
    """The largest difference of the shares of scores up to a point."""


@check_arguments
def score_distribution(values: Sequence[float], clusters: Sequence[Hashable] | None = None) -> ScoreDistribution | None:
    """Return the distribution of scores, at no more than 20 points; None without scores.

    `clusters` names the case of each score if cases have several.

    >>> score_distribution([1, 0, 1, 0.5])
    ScoreDistribution(points=(0.0, 0.5, 1.0), counts=(1, 1, 2), is_exact=True, effective=4.0)
    """
    if not values:
        return None
    found = sorted(round(float(value), _DIGITS) + 0.0 for value in values)  # + 0.0 turns -0.0 into 0.0
    points = sorted(set(found))
    is_exact = len(points) <= POINTS
    if not is_exact:
        points = _quantile_points(found)
    counts = Counter(bisect_left(points, value) for value in found)
    return ScoreDistribution(
        points=tuple(points),
        counts=tuple(counts[place] for place in range(len(points))),
        is_exact=is_exact,
        effective=round(_effective_number(values, clusters), 2),
    )


def _quantile_points(ordered: Sequence[float]) -> list[float]:
    """Return at most 20 points: quantiles, and one just below each value that many scores share.

    Without the latter, scores that fall from such a value, as from 1 to 0.8, would still be counted at it.
    """
    quantiles = Counter(ordered[math.ceil(len(ordered) * place / POINTS) - 1] for place in range(1, POINTS + 1))
    shared = (value for value, count in quantiles.items() if count > 1 and value > ordered[0])
    return sorted({*quantiles, *(round(value - 10**-_DIGITS, _DIGITS) for value in shared)})


@check_arguments
def distribution_shift(
    earlier: ScoreDistribution, later: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> DistributionShift | None:
    """Test whether later scores come from the same distribution as earlier ones; None for fewer than 10 of either.

    Two tests, each at half of the level: that of Wilcoxon, Mann and Whitney with mean ranks for ties, which finds scores
    that rise or fall together, and that of Kolmogorov and Smirnov, which finds any change of the distribution if there are
    enough scores.

    >>> earlier = score_distribution([n / 100 for n in range(100)])
    >>> found = distribution_shift(earlier, [n / 200 + 0.15 for n in range(200)])
    >>> found.p < 0.001, round(found.higher, 2)
    (True, 0.64)
    """
    n, m = earlier.effective, _effective_number(later, clusters) if later else 0.0
    if min(n, m) < FEW:
        return None
    before, after = _shares(earlier, later)
    higher, apart, below, gap = 0.0, 0.0, 0.0, 0.0
    for old, new in zip(before, after, strict=True):
        higher += new * (below + old / 2)
        below, gap = below + old, gap + new - old
        apart = max(apart, abs(gap))
    pooled = [(n * old + m * new) / (n + m) for old, new in zip(before, after, strict=True)]
    spread = (1 - math.fsum(share**3 for share in pooled)) / 12 * (1 / n + 1 / m)
    if spread <= 0:  # all scores are equal
        return DistributionShift(p=1.0, higher=0.5, apart=0.0)
    by_rank = 2 * NormalDist().cdf(-abs(higher - 0.5) / math.sqrt(spread))
    by_distance = _kolmogorov(apart, n * m / (n + m))
    return DistributionShift(p=min(1.0, 2 * min(by_rank, by_distance)), higher=higher, apart=apart)


def _shares(earlier: ScoreDistribution, later: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the shares of earlier and of later scores between points and at each point.

    Scores between two points have a place of their own only if all earlier scores are known exactly.
    """
    points = earlier.points
    places: Counter[int] = Counter()
    for value in later:
        score = round(float(value), _DIGITS) + 0.0
        place = bisect_left(points, score)
        at_point = place < len(points) and (points[place] == score or not earlier.is_exact)
        places[2 * place + at_point] += 1
    before = [0.0] * (2 * len(points) + 1)
    before[1::2] = [count / earlier.n for count in earlier.counts]
    return before, [places[place] / len(later) for place in range(len(before))]


def _kolmogorov(apart: float, n: float) -> float:
    """Return the p-value of the test of Kolmogorov and Smirnov for `n` effective values, by M. A. Stephens (1970)."""
    root = math.sqrt(n)
    distance = (root + 0.12 + 0.11 / root) * apart
    if distance < 0.3:
        return 1.0
    terms = ((-1) ** (k - 1) * math.exp(-2 * (k * distance) ** 2) for k in range(1, 101))
    return min(1.0, max(0.0, 2 * math.fsum(terms)))


def _effective_number(values: Sequence[float], clusters: Sequence[Hashable] | None) -> float:
    """Return how many independent scores would carry the same information, by the variance of the mean rank."""
    n = len(values)
    if clusters is None or len(set(clusters)) == n:
        return float(n)
    ordered = sorted(values)
    first: dict[float, int] = {}
    for place, value in enumerate(ordered):
        first.setdefault(value, place)
    counts = Counter(values)
    ranks = [first[value] + counts[value] / 2 for value in values]
    cases_alone = n * n / sum(size * size for size in Counter(clusters).values())
    together, alone = clustered_error(ranks, clusters), clustered_error(ranks, range(n))
    if not together or not alone:
        return cases_alone
    return max(cases_alone, min(float(n), n * (alone / together) ** 2))
