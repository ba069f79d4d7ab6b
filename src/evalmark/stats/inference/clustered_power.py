"""Power of comparisons of clustered cases: the correlation within clusters, and the number of cases needed."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import Any

from evalmark.core.lazy import need

from .argument_checks import check_arguments
from .intervals import LEVEL
from .means import FEW
from .power import POWER, cases_needed

_DRAWS = 2_000
"""Comparisons that are simulated for each number of clusters."""
_MOST_DRAWN = 200
"""The largest number of clusters that is simulated; above it, means of clusters are nearly normal."""
_SEED = 20_250


@check_arguments
def cluster_size(clusters: Sequence[Hashable]) -> float:
    """Return the mean size of clusters, weighted by their size: that of the cluster of an average case; 1 without clusters.

    Clusters increase the variance of a mean by the design effect 1 + (size - 1) · ICC (Kish, Survey sampling, 1965), with
    this size where clusters differ in size.

    Args:
        clusters: the cluster of each case.

    >>> cluster_size(["a", "a", "a", "b"]), cluster_size([])
    (2.5, 1.0)
    """
    sizes = Counter(clusters).values()
    return sum(size * size for size in sizes) / len(clusters) if clusters else 1.0


@check_arguments
def intraclass(
    values: Sequence[float], clusters: Sequence[Hashable], level: float = LEVEL
) -> tuple[float, float, float] | None:
    """Estimate the intraclass correlation (ICC), that of two values of one cluster, with its interval.

    The estimate is that of the analysis of variance; the interval is that of the F distribution (Searle, Linear models,
    1971), exact for normal values in clusters of one size. Both are limited to 0 to 1.

    Args:
        values: one of each case.
        clusters: the cluster of each value.
        level: the two-sided level of the interval, between 0 and 1.

    Returns:
        The lower end, the estimate and the upper end; None with fewer than two clusters, without a cluster of two values,
        or if all values are equal.

    Raises:
        ValueError: there are not as many clusters as values.

    >>> low, estimate, high = intraclass([1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "c"])
    >>> round(estimate, 3), low, round(high, 3)
    (0.5, 0.0, 0.983)
    """
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values but {len(clusters)} clusters")
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    n, count = len(values), len(groups)
    if count < 2 or n == count or len(set(values)) < 2:
        return None
    mean = math.fsum(values) / n
    means = {name: math.fsum(group) / len(group) for name, group in groups.items()}
    between = math.fsum(len(group) * (means[name] - mean) ** 2 for name, group in groups.items()) / (count - 1)
    within = math.fsum((value - means[name]) ** 2 for name, group in groups.items() for value in group) / (n - count)
    if not within:
        return 1.0, 1.0, 1.0
    size = (n - sum(len(group) ** 2 for group in groups.values()) / n) / (count - 1)
    f = need("scipy.stats").f(count - 1, n - count)
    low, estimate, high = (
        _icc(ratio, size)
        for ratio in (
            between / within / f.ppf((1 + level) / 2),
            between / within,
            between / within / f.ppf((1 - level) / 2),
        )
    )
    return low, estimate, high


def _icc(ratio: float, size: float) -> float:
    """Return the correlation for a ratio of the mean squares between and within clusters."""
    return min(1.0, max(0.0, float((ratio - 1) / (ratio + size - 1))))


@check_arguments
def clustered_cases_needed(
    effect: float, variance: float, size: float, level: float = LEVEL, power: float = POWER
) -> int | None:
    """Return how many cases in clusters detect a mean difference of `effect`; None if no number does.

    Like `cases_needed`, by Student's t over clusters instead of the normal distribution, with at least ten clusters.

    Args:
        effect: the difference to detect.
        variance: the variance of the difference of one case times its design effect, 1 + (size - 1) · ICC for a part of the
            variance with a correlation of ICC within clusters.
        size: the cases of a cluster, from 1.
        level: the two-sided level of the test, between 0 and 1.
        power: the probability of detecting it, between 0 and 1.

    >>> clustered_cases_needed(0.1, 0.29, 10), cases_needed(0.1, variance=0.29)
    (250, 228)
    """
    likely = cases_needed(effect, variance=variance, level=level, power=power)
    if likely is None:
        return None
    student, of_effects = need("scipy.stats").t, need("scipy.stats").nct
    count = max(FEW, math.ceil(likely / size))
    if count <= _MOST_DRAWN:
        while (
            variance
            and of_effects.sf(
                student.ppf((1 + level) / 2, count - 1), count - 1, abs(effect) / math.sqrt(variance / (size * count))
            )
            < power
        ):
            count += 1
    return math.ceil(count * size)


@check_arguments
def clustered_pairs_needed(
    effect: float, chance: float, size: int, icc: tuple[float, float], level: float = LEVEL, power: float = POWER
) -> int | None:
    """Return how many cases in clusters detect a difference of pass rates of `effect`; None if no number does.

    A share `effect` of the cases changes for good, another share `chance` changes in either direction by chance. Up to 200
    clusters, comparisons are simulated with a fixed seed; changes for good follow a beta-binomial distribution.

    Args:
        effect: the difference of the pass rates, above 0 and below 1.
        chance: the share of cases that changes by chance, from 0.
        size: the cases of a cluster, from 1.
        icc: the correlation within a cluster of changes by chance, and of changes for good, each from 0 to 1.
        level: the two-sided level of the test, between 0 and 1.
        power: the probability of detecting it, between 0 and 1.

    >>> clustered_pairs_needed(0.1, 0.2, 10, (0.0, 0.0)), clustered_pairs_needed(0.1, 0.2, 10, (0.0, 0.3))
    (260, 410)
    """
    chance = min(chance, 1 - effect)
    widened = chance * (1 + (size - 1) * icc[0]) + effect * (1 - effect) * (1 + (size - 1) * icc[1])
    likely = clustered_cases_needed(effect, widened, size, level, power)
    if likely is None or likely > _MOST_DRAWN * size:
        return likely
    low, high = FEW, 2 * math.ceil(likely / size)
    while low < high:
        middle = (low + high) // 2
        is_enough = _drawn_power(middle, effect, chance, size, icc, level) >= power
        low, high = (low, middle) if is_enough else (middle + 1, high)
    return low * size


def _drawn_power(count: int, effect: float, chance: float, size: int, icc: tuple[float, float], level: float) -> float:
    """Estimate by simulation how often a comparison over clusters detects the difference."""
    numpy = need("numpy")
    source = numpy.random.default_rng(_SEED)
    shape = (_DRAWS, count)
    lasting = source.binomial(size, _shares(source, effect, icc[1], shape))
    # of the other cases, those of a share `icc` of the clusters change together, so that `icc` is the correlation of changes
    others, share = size - lasting, min(1.0, chance / (1 - effect))
    changed = source.binomial(others, share)
    independent = 2.0 * source.binomial(changed, 0.5) - changed
    joint = others * source.choice([1, -1, 0], shape, p=[share / 2, share / 2, 1 - share])
    differences = (lasting + numpy.where(source.random(shape) < icc[0], joint, independent)) / size
    # a comparison needs both an interval by Student's t without 0 and a test by sign flips, here by its normal approximation
    student = differences.std(axis=1, ddof=1) / math.sqrt(count) * need("scipy.stats").t.ppf((1 + level) / 2, count - 1)
    flips = numpy.sqrt((differences**2).sum(axis=1)) / count * NormalDist().inv_cdf((1 + level) / 2)
    return float((differences.mean(axis=1) > numpy.maximum(student, flips)).mean())


def _shares(source: Any, mean: float, icc: float, shape: tuple[int, int]) -> Any:
    """Draw a share for each cluster, with this correlation of two cases of one cluster."""
    numpy = need("numpy")
    if icc <= 0:
        return numpy.full(shape, mean)
    if icc >= 1:
        return (source.random(shape) < mean).astype(float)
    total = 1 / icc - 1
    return source.beta(mean * total, (1 - mean) * total, shape)
