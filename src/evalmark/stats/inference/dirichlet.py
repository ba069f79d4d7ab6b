"""The interval of a mean of bounded values that accounts for values the sample does not show."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from evalmark.core.lazy import need

from .argument_checks import check_arguments
from .intervals import LEVEL, Interval, no_interval

METHOD = "Dirichlet bound"
JEFFREYS = "Jeffreys"
_DISTINCT = 1_000
"""With more distinct values, they are grouped into this many equal steps, each represented by its mean."""
_STEP = 0.1
_REACH = 16
_NOTHING = 1e-17
_DIGITS = 10
"""Significant digits of an end; later ones may differ between processors."""
_TINY = 1e-290
"""Values up to this are taken as the worst, because products of them vanish."""


@check_arguments
def dirichlet_interval(
    values: Sequence[float],
    low: float,
    high: float,
    level: float = LEVEL,
    *,
    sizes: Sequence[float] | None = None,
) -> Interval:
    """Return the interval of the mean of values between `low` and `high`, whatever their distribution.

    Each end is the bound of Gaffke (2005), also found by Learned-Miller and Thomas (2019): the sample and one more value at
    the worst end get random weights, uniform over all weights that sum to 1, and the bound is the quantile of the weighted
    mean at (1 - level) / 2. So rare values that no case shows are counted with: 100 equal differences on the scale from -1 to
    1 leave 3.6 points either way. For two-point distributions this is the exact binomial bound of Clopper and Pearson;
    for all others its level is a conjecture that no simulation has contradicted.

    Args:
        values: The values, in any order.
        low: The smallest value that is possible.
        high: The largest value that is possible.
        level: How often the interval holds the true mean, between 0 and 1.
        sizes: With clusters, `values` are their means, and this is how many values each has. No unseen cluster is taken
            to be larger than the largest of these; where all are of one size, it does not matter which.

    Returns:
        The interval; none without values, or where `low` and `high` are equal.

    Raises:
        ValueError: a value is not finite, or not within `low` and `high`; the sizes are not as many, or not above 0.

    >>> found = dirichlet_interval([0.0] * 100, -1, 1)
    >>> round(found.low, 4), round(found.high, 4)
    (-0.0362, 0.0362)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"low and high must be finite, low first, got {low!r} and {high!r}")
    if not all(low <= value <= high for value in values):
        raise ValueError(f"values must lie within low and high, {low!r} to {high!r}")
    if not values:
        return no_interval("no values", level)
    if low == high:
        return no_interval("only one value is possible", level)
    if sizes is not None and (len(sizes) != len(values) or min(sizes) <= 0):
        raise ValueError("sizes must be above 0, one for each value")
    numpy = need("numpy")
    inside = (numpy.asarray(values, dtype=numpy.float64) - low) / (high - low)
    each = numpy.ones(len(inside)) if sizes is None else numpy.asarray(sizes, dtype=numpy.float64) / max(sizes)
    lower, upper = (_quantile(side, each, {0.0: 1.0}, (1 - level) / 2) for side in (inside, 1 - inside))
    return Interval(low=low + (high - low) * lower, high=high - (high - low) * upper, level=level, method=METHOD)


@check_arguments
def jeffreys_interval(shares: Sequence[float], sizes: Sequence[float], level: float = LEVEL) -> Interval:
    """Return the interval of the share of passes in clusters of trials.

    As for `dirichlet_interval` the clusters get random weights, here together with half a cluster of which all trials pass
    and half a cluster of which none does. Where each cluster passes or fails as a whole it is the interval of Jeffreys. Its
    level holds on average over true shares, as that of Wilson's interval, and not at every one; it is narrower than the
    Dirichlet bound.

    Args:
        shares: The share of trials of each cluster that passed.
        sizes: The number of trials of each cluster.
        level: How often the interval holds the true share, between 0 and 1.

    Returns:
        The interval; none without clusters.

    Raises:
        ValueError: a share is not from 0 to 1; the sizes are not as many, or not above 0.

    >>> found = jeffreys_interval([1.0, 0.5, 1.0, 0.75, 0.0], [4, 4, 4, 4, 4])
    >>> round(found.low, 3), round(found.high, 3)
    (0.299, 0.882)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if len(shares) != len(sizes) or min(sizes, default=1) <= 0 or not all(0 <= share <= 1 for share in shares):
        raise ValueError("shares must be from 0 to 1 and sizes above 0, one for each share")
    if not shares:
        return no_interval("nothing was counted", level)
    numpy = need("numpy")
    inside, each = numpy.asarray(shares, dtype=numpy.float64), numpy.asarray(sizes, dtype=numpy.float64)
    each = each / ((each * each).sum() / each.sum())
    ends = {0.0: 0.5, 1.0: 0.5}
    lower, upper = (_quantile(side, each, ends, (1 - level) / 2) for side in (inside, 1 - inside))
    return Interval(low=lower, high=1 - upper, level=level, method=JEFFREYS)


def _gathered(values: Any, sizes: Any) -> tuple[Any, Any, Any]:
    """Return distinct values with their sizes and counts; very many values are grouped."""
    numpy = need("numpy")
    order = numpy.lexsort((sizes, values))
    values, sizes = values[order], sizes[order]
    starts = numpy.flatnonzero(numpy.append(True, (numpy.diff(values) != 0) | (numpy.diff(sizes) != 0)))
    counts = numpy.diff(numpy.append(starts, len(values))).astype(numpy.float64)
    values, sizes = values[starts], sizes[starts]
    if len(values) <= _DISTINCT:
        return values, sizes, counts
    span = values[-1] - values[0]
    places = numpy.minimum((values - values[0]) / span * _DISTINCT, _DISTINCT - 1).astype(int)
    totals, weights = numpy.bincount(places, counts), numpy.bincount(places, counts * sizes)
    used = totals > 0
    sums = numpy.bincount(places, counts * sizes * values)
    return sums[used] / weights[used], weights[used] / totals[used], totals[used]


def _quantile(values: Any, sizes: Any, unseen: Mapping[float, float], tail: float) -> float:
    """Return the value below which the randomly weighted mean lies with probability `tail`.

    `unseen` maps values that are added, in the size of 1, to the number of times that each counts.
    """
    numpy = need("numpy")
    values, sizes, counts = _gathered(values, sizes)
    values = numpy.append(values, list(unseen))
    sizes, counts = numpy.append(sizes, numpy.ones(len(unseen))), numpy.append(counts, list(unseen.values()))
    return _quantile_of_groups(numpy.array([values, sizes, counts]).tobytes(), tail)


@lru_cache(maxsize=256)
def _quantile_of_groups(groups: bytes, tail: float) -> float:
    """Return `_quantile` of distinct values with their sizes and counts.

    Remembered, because reports and pages of one run compute its intervals again.
    """
    numpy = need("numpy")
    values, sizes, counts = numpy.frombuffer(groups).reshape(3, -1)
    highest = float(values.max())
    if highest <= _TINY:
        return 0.0
    normal = NormalDist()
    wanted = normal.inv_cdf(tail)

    def beyond(at: float) -> float:
        """Return the deviation from `tail` on the scale of normal deviates, where it is nearly linear."""
        if at <= 0 or at >= highest:
            return -math.inf if at <= 0 else math.inf
        return normal.inv_cdf(min(1 - 1e-16, max(1e-300, _chance_below(at, values, sizes, counts)))) - wanted

    lower, upper = 0.0, highest
    weights = sizes * counts
    middle = float((values * weights).sum() / weights.sum())
    if 0 < middle < highest:
        lower, upper = (lower, middle) if beyond(middle) > 0 else (middle, upper)
    inset = 1e-13 * highest
    lower, upper = max(lower, inset), min(upper, highest - inset)
    return float(f"{_root(beyond, lower, upper):z.{_DIGITS}g}")


def _root(function: Callable[[float], float], lower: float, upper: float) -> float:
    """Return where an increasing function is 0, or the end nearest to it (Illinois method).

    `scipy.optimize` has such functions; loading it takes longer than all intervals of a small run.
    """
    below, above = function(lower), function(upper)
    if below >= 0 or above <= 0:
        return lower if below >= 0 else upper
    side = 0
    for _ in range(100):
        middle = (lower * above - upper * below) / (above - below)
        value = function(middle)
        if value == 0 or upper - lower < 1e-11 * upper:
            return middle
        if value > 0:
            upper, above = middle, value
            below, side = (below / 2 if side == 1 else below), 1
        else:
            lower, below = middle, value
            above, side = (above / 2 if side == -1 else above), -1
        if abs(value) < 1e-13:
            return middle
    return (lower + upper) / 2


def _chance_below(at: float, values: Any, sizes: Any, counts: Any) -> float:
    """Return the probability that the weighted mean is below `at`.

    The weights are exponential variables divided by their sum. So it is the probability that a sum of weighted
    exponential variables is negative: an integral over its moment generating function along a line in the complex
    plane. The line passes through the saddle point, where the integrand is largest on it and does not oscillate.
    """
    numpy = need("numpy")
    slopes = sizes * (values - at)
    slopes = slopes / -slopes.min()
    saddle, width = _saddle(slopes, counts)
    steps = numpy.arange(0, _REACH, _STEP)
    along = width * numpy.sinh(steps)
    total, scale = 0.0, width * numpy.cosh(steps)
    for start in range(0, len(steps), 20):
        some = saddle + 1j * along[start : start + 20]
        logs = -(numpy.log(1 + slopes[:, None] * some) * counts[:, None]).sum(axis=0) - numpy.log(some)
        terms = numpy.exp(logs) * scale[start : start + 20]
        total += float(terms.real.sum()) - (0.5 * float(terms[0].real) if start == 0 else 0.0)
        if abs(terms[-1]) < _NOTHING:
            break
    return total * _STEP / math.pi


def _saddle(slopes: Any, weights: Any) -> tuple[float, float]:
    """Return where the integrand is smallest on the real axis between 0 and 1, and its width there."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        if (weights * slopes / (1 + slopes * middle)).sum() + 1 / middle > 0:
            low = middle
        else:
            high = middle
    at = (low + high) / 2
    curvature = (weights * (slopes / (1 + slopes * at)) ** 2).sum() + 1 / at**2
    return at, float(1 / math.sqrt(curvature))
