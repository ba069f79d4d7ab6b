"""Intervals for a mean; the method depends on the values, and is named in the interval."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from evalmark.core.lazy import need

from .argument_checks import check_arguments
from .dirichlet import METHOD as DIRICHLET
from .dirichlet import dirichlet_interval, jeffreys_interval
from .intervals import LEVEL, Interval, Share, no_interval, wilson

FEW = 10
"""The spread of fewer values is not used for intervals that rest on a normal distribution."""
DIFFERENT = 5
"""Nor is it if fewer values than this differ from the most common one."""


@check_arguments
def mean(values: Sequence[float]) -> float | None:
    """Return the mean, exactly rounded; None for no values."""
    if not values:
        return None
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        # scaling by a power of two loses no precision
        return math.ldexp(math.fsum(math.ldexp(v, -64) for v in values) / len(values), 64)


@check_arguments
def clustered_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """Return the standard error of a mean with clustered values (CR1); None with fewer than two clusters.

    With one value in each cluster it is the usual standard error of a mean.

    >>> round(clustered_error([1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]), 10)
    0.2357022604
    """
    sums = _residual_sums(values, clusters)
    if len(sums) < 2:
        return None
    groups = len(sums)
    return math.sqrt(groups / (groups - 1) * math.fsum(s * s for s in sums)) / len(values)


@check_arguments
def share_interval(
    passed: Sequence[float], clusters: Sequence[Hashable] | None = None, level: float = LEVEL, *, unit: str = "case"
) -> Interval:
    """Return the interval of the share of ones: Wilson's, or with `clusters` that of Jeffreys over clusters.

    Trials of one cluster, such as repeats of a case, carry less information than as many cases. Where each cluster
    passes or fails as a whole, they carry no more than one trial each, and the interval is Wilson's for these. It
    is never narrower than without clusters.

    Args:
        passed: Zeros and ones, or the share that passed of each unit.
        clusters: The case, or cluster, of each value; None if every value is a case of its own.
        level: The confidence level, above 0 and below 1.
        unit: What the method calls a cluster.

    Returns:
        The interval with its method; its ends are None where there is none.

    >>> share_interval([1, 1, 0, 1, 0]).method
    'Wilson'
    """
    if not set(passed) <= {0, 1}:
        raise ValueError(f"passed must be zeros and ones, got {next(p for p in passed if p not in (0, 1))!r}")
    n, k = len(passed), int(math.fsum(passed))
    if clusters is None or n == 0 or len(set(clusters)) == n:
        return wilson(k, n, level)
    groups = list(_grouped(passed, clusters))
    found = clustered_share_interval([math.fsum(group) / len(group) for group in groups], [*map(len, groups)], level)
    return hull(replace(found, method=f"{found.method}, clustered by {unit}"), wilson(k, n, level))


@check_arguments
def hull(found: Interval, other: Interval) -> Interval:
    """Return `found`, widened to the ends of `other`; as it is where either has no ends."""
    if found.low is None or found.high is None or other.low is None or other.high is None:
        return found
    return replace(found, low=min(found.low, other.low), high=max(found.high, other.high))


@check_arguments
def clustered_share_interval(shares: Sequence[float], sizes: Sequence[float], level: float = LEVEL) -> Interval:
    """Return the interval of a share of passes from the share and the size of each cluster."""
    if not set(shares) <= {0.0, 1.0}:
        return jeffreys_interval(shares, sizes, level)
    total = math.fsum(sizes)
    clusters = total * total / math.fsum(size * size for size in sizes) if sizes else 0.0
    passed = math.fsum(share * size for share, size in zip(shares, sizes, strict=True))
    return wilson(min(1.0, passed / total) * clusters if sizes else 0.0, clusters, level)


@check_arguments
def share(
    flags: Sequence[int], clusters: Sequence[Hashable] | None = None, level: float = LEVEL, *, unit: str = "case"
) -> Share:
    """Return the number and the share of ones with its interval; `clusters` and `unit` as in `share_interval`."""
    n, yes = len(flags), sum(flags)
    interval = share_interval(flags, clusters, level, unit=unit)
    return Share(passed=yes, n=n, value=yes / n if n else None, interval=interval)


@check_arguments
def mean_interval(
    values: Sequence[float],
    level: float = LEVEL,
    *,
    clusters: Sequence[Hashable] | None = None,
    bounded: bool | None = None,
    unit: str = "case",
) -> Interval:
    """Return the interval of a mean; `clusters` names the case of each value if cases were repeated.

    Clusters may be larger than cases, such as documents; `unit` is what the method calls them.

    `bounded` says that values lie between 0 and 1; with None, the values themselves decide. The order of the
    values does not matter.

    Args:
        values: The scores.
        level: The confidence level, above 0 and below 1.
        clusters: The case, or cluster, of each value; None if every value is a case of its own.
        bounded: Whether values lie between 0 and 1; None: the values decide.
        unit: What the method calls a cluster.

    Returns:
        The interval with its method; its ends are None where there is none.

    >>> mean_interval([0.2, 0.9, 0.4]).method
    'Dirichlet bound'
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("an interval needs finite values")
    if clusters is not None and len(clusters) != len(values):
        raise ValueError(f"{len(values)} values but {len(clusters)} clusters")
    within = all(0 <= v <= 1 for v in values)
    if bounded and not within:
        raise ValueError("values called bounded must be from 0 to 1")
    if within and bounded is not False:
        return _bounded_interval(values, clusters, level, unit)
    return _student(values, clusters, level, unit)


def _bounded_interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None, level: float, unit: str
) -> Interval:
    """Return the interval for values between 0 and 1."""
    if values and set(values) <= {0.0, 1.0}:
        return share_interval(values, clusters, level, unit=unit)
    if clusters is None or len(set(clusters)) == len(values):
        return dirichlet_interval(values, 0, 1, level)
    groups = list(_grouped(values, clusters))
    means = [math.fsum(group) / len(group) for group in groups]
    found = dirichlet_interval(means, 0, 1, level, sizes=[float(len(group)) for group in groups])
    return replace(found, method=f"{DIRICHLET}, clustered by {unit}")


def _student(values: Sequence[float], clusters: Sequence[Hashable] | None, level: float, unit: str) -> Interval:
    if len(values) < 2:
        return no_interval("one value shows no spread" if values else "no values", level)
    groups = range(len(values)) if clusters is None else clusters
    count = len(set(groups))
    error = clustered_error(values, groups)
    if error is None:
        return no_interval(f"repeats of one {unit} show no spread between {unit}s", level)
    if error == 0:
        return no_interval("all values are equal", level)
    half = float(need("scipy.special").stdtrit(count - 1, (1 + level) / 2)) * error
    centre = mean(values)
    if centre is None or not math.isfinite(centre) or not math.isfinite(half):
        return no_interval("the values are too large", level)
    method = "Student's t" if count == len(values) else f"Student's t, clustered by {unit}"
    return Interval(low=centre - half, high=centre + half, level=level, method=method)


@check_arguments
def projected_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    level: float = LEVEL,
    *,
    bounded: bool,
    growth: tuple[int, int] = (1, 1),
    variance: float = 1.0,
) -> Interval:
    """Return the interval that `mean_interval` would give for a larger sample like this one.

    Args:
        values: The values of this sample.
        clusters: The cluster of each value.
        level: The confidence level, between 0 and 1.
        bounded: Whether values lie between 0 and 1.
        growth: How many times as many clusters the larger sample has, which are like those here, and how many times as many
            values each of them has.
        variance: The variance of the mean of a cluster in the larger sample as a share of the one here, from 0; the means here
            are moved towards their own mean by its square root.

    >>> now = mean_interval([0.2, 0.9, 0.4, 0.7])
    >>> later = projected_interval([0.2, 0.9, 0.4, 0.7], [1, 2, 3, 4], bounded=True, growth=(4, 1))
    >>> round(now.high - now.low, 3), round(later.high - later.low, 3)
    (0.673, 0.322)
    """
    copies, times = growth
    groups = list(_grouped(values, clusters))
    centre, root = mean(values) or 0.0, math.sqrt(variance)
    means = [centre + (math.fsum(group) / len(group) - centre) * root for group in groups] * copies
    lengths = [len(group) for group in groups] * copies
    if not bounded:
        # the mean of a cluster in place of each of its values leaves their sum, on which the error rests
        owners = [number for number, length in enumerate(lengths) for _ in range(length)]
        return _student([means[number] for number in owners], owners, level, "cluster")
    inside, sizes = [min(1.0, max(0.0, one)) for one in means], [float(times * length) for length in lengths]
    if not set(values) <= {0.0, 1.0}:
        return dirichlet_interval(inside, 0, 1, level, sizes=sizes)
    n = math.fsum(sizes)
    return hull(clustered_share_interval(inside, sizes, level), wilson(min(n, centre * n), n, level))


@check_arguments
def skewness_caution(values: Sequence[float], clusters: Sequence[Hashable] | None = None) -> str:
    """Return why Student's t may be too short for so many values; empty if it is not.

    Without known ends nothing accounts for values that the sample does not show, so the rule can only look at those
    it has: t needs at least 28 + 25 times the squared skewness (Sugden, Smith and Jones 2000, after Cochran).

    >>> skewness_caution([float(n % 7) for n in range(70)])
    ''
    >>> skewness_caution([0.0] * 39 + [12.0])
    'the interval may be too short: 40 values are few, as skewed as they are and without a known range'
    """
    sums = _residual_sums(values, range(len(values)) if clusters is None else clusters)
    square = math.fsum(s * s for s in sums)
    if not 0 < square < math.inf:
        return ""
    skewness = math.fsum((s / math.sqrt(square)) ** 3 for s in sums) * math.sqrt(len(sums))
    if len(sums) >= 28 + 25 * skewness**2:
        return ""
    noun = "values" if len(sums) == len(values) else "cases"
    skewed = "as skewed as they are and " if len(sums) >= 28 else ""
    return f"the interval may be too short: {len(sums):,} {noun} are few, {skewed}without a known range"


def _residual_sums(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    centre = mean(values) or 0.0
    if isinstance(clusters, range):  # every value is its own cluster, and there may be many
        return [v - centre for v in values]
    return [math.fsum(v - centre for v in group) for group in _grouped(values, clusters)]


def _grouped(values: Sequence[float], clusters: Sequence[Hashable]) -> Iterable[list[float]]:
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    return groups.values()
