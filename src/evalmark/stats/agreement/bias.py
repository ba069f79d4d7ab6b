"""Measures what should not influence a judge: the position of an output, and its length."""

import math
from collections.abc import Hashable, Sequence

from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Interval, Share, clopper_pearson, no_interval
from evalmark.stats.inference.means import FEW, mean_interval

ROUNDING = 1e-12


@check_arguments
def position_share(first: int, second: int, level: float = LEVEL) -> Share:
    """Return how often a judge chose the first position, of the pairs in which the order decided.

    A pair is judged in both orders; `first` counts pairs in which the output in the first position won both
    times, `second` those in which the second position did. An unbiased judge has a share of one half. The
    interval is the exact binomial one. C. J. Clopper, E. S. Pearson (1934).

    >>> found = position_share(15, 5)
    >>> found.value, round(found.interval.low, 3), round(found.interval.high, 3)
    (0.75, 0.509, 0.913)
    """
    n = first + second
    return Share(passed=first, n=n, value=first / n if n else None, interval=clopper_pearson(first, n, level))


@check_arguments
def length_slope(
    scores: Sequence[float],
    lengths: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = LEVEL,
) -> tuple[float | None, Interval]:
    """Return by how much the score rises when the output is twice as long, with an interval.

    The slope of the least-squares line of scores over the binary logarithm of lengths; lengths below 1 count as
    1. `clusters` names the case of each output if cases have several. The interval is Student's t over the
    influence of each output (or case), which is valid for any scatter around the line (White 1980). None if all
    lengths are equal; no interval below 10 cases. A slope alone does not prove a bias: longer outputs may be
    better. Raises ValueError for numbers that are not finite, and for lists of different lengths.

    >>> round(length_slope([0.2, 0.4, 0.6, 0.8], [10, 20, 40, 80])[0], 9)
    0.2
    """
    if not all(map(math.isfinite, [*scores, *lengths])):
        raise ValueError("a slope needs finite numbers")
    if len(scores) != len(lengths):
        raise ValueError(f"{len(scores)} scores but {len(lengths)} lengths")
    doublings = [math.log2(max(1.0, length)) for length in lengths]
    if len(set(doublings)) < 2:
        return None, no_interval("all answers are of one length" if scores else "no answers", level)
    n = len(scores)
    middle, centre = math.fsum(doublings) / n, math.fsum(scores) / n
    apart = [x - middle for x in doublings]
    spread = math.fsum(x * x for x in apart)
    slope = math.fsum(x * (y - centre) for x, y in zip(apart, scores, strict=True)) / spread
    if (n if clusters is None else len(set(clusters))) < FEW:
        return slope, no_interval(f"fewer than {FEW} cases", level)
    held = [1 - 1 / n - x * x / spread for x in apart]
    if min(held) < ROUNDING:
        return slope, no_interval("a single answer is of another length", level)
    # The leverage of each output: leaving it out changes the slope by more than its residual shows.
    pulls = [n * x * (y - centre - slope * x) / (spread * h) for x, y, h in zip(apart, scores, held, strict=True)]
    shift = slope - math.fsum(pulls) / n
    return slope, mean_interval([pull + shift for pull in pulls], level, clusters=clusters, bounded=False)
