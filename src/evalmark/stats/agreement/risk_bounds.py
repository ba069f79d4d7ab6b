"""Rates that are promised: exact upper bounds, how many labels they need, thresholds tested one after the other."""

import math
from collections.abc import Sequence

from evalmark.core.lazy import need
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL

ROUNDING = 1e-9
"""What a product of a rate and a count may be off."""


@check_arguments
def upper_bound(k: int, n: int, level: float = LEVEL) -> float:
    """The rate that is not exceeded, one-sided, when `k` of `n` independent cases went wrong; 1 when n is 0.

    C. J. Clopper, E. S. Pearson (1934). Raises ValueError unless 0 <= k <= n and 0 < level < 1.

    >>> round(upper_bound(0, 59), 7)
    0.0495076
    """
    if not 0 <= k <= n:
        raise ValueError(f"k must be from 0 to n, got {k!r} of {n!r}")
    _check_share(level, "level")
    return 1.0 if k == n else float(need("scipy.special").betaincinv(k + 1, n - k, level))


@check_arguments
def clean_negatives_needed(rate: float, level: float = LEVEL) -> int:
    """How many bad cases, none of which may pass, promise that at most this share of bad cases does.

    The smallest n with (1 - rate)^n <= 1 - level. Raises ValueError unless both are between 0 and 1.

    >>> clean_negatives_needed(0.05), clean_negatives_needed(0.01)
    (59, 299)
    """
    _check_share(rate, "rate")
    _check_share(level, "level")
    return math.ceil(math.log1p(-level) / math.log1p(-rate) - ROUNDING)


@check_arguments
def failures_allowed(n: int, rate: float, level: float = LEVEL) -> int | None:
    """How many of `n` bad cases may pass while at most `rate` of all can be promised; None when even none is too many.

    The most for which `upper_bound` is not above `rate`. Raises ValueError unless `rate` and `level` are between 0 and 1.

    >>> failures_allowed(58, 0.05), failures_allowed(59, 0.05), failures_allowed(93, 0.05)
    (None, 0, 1)
    """
    _check_share(rate, "rate")
    _check_share(level, "level")
    binomial, allowed = need("scipy.special").bdtr, -1
    # The slack is for levels such as 0.95, whose 1 - level is a little more than 0.05 as computed.
    while n and binomial(allowed + 1, n, rate) <= (1 - level) * (1 + ROUNDING):
        allowed += 1
    return allowed if allowed >= 0 else None


@check_arguments
def hoeffding_bentkus(risk: float, n: int, limit: float) -> float:
    """The p-value of "the true risk is above the limit" when the mean of `n` independent losses from 0 to 1 is `risk`.

    The smaller of Hoeffding's and Bentkus' bounds: A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei,
    Learn then Test, arXiv 2110.01052. 1 when nothing was counted. Raises ValueError for a risk that is not from 0 to 1,
    and a limit not between them.

    >>> round(hoeffding_bentkus(0.02, 200, 0.05), 10)
    0.0718898559
    """
    if not 0 <= risk <= 1:
        raise ValueError(f"a mean of losses must be from 0 to 1, got {risk!r}")
    _check_share(limit, "limit")
    if n < 1:
        return 1.0
    special, below = need("scipy.special"), min(risk, limit)
    apart = special.rel_entr(below, limit) + special.rel_entr(1 - below, 1 - limit)
    bentkus = math.e * float(special.bdtr(math.ceil(n * risk - ROUNDING), n, limit))
    return min(1.0, math.exp(-n * float(apart)), bentkus)


@check_arguments
def learn_then_test(risks: Sequence[float], n: int, limit: float, level: float = LEVEL) -> int | None:
    """The last of a fixed order of settings, strictest first, whose risk is shown to keep the limit; None when none is.

    `risks` holds the mean of the same `n` independent losses from 0 to 1 under each setting. They are tested one
    after the other by `hoeffding_bentkus`, and the first that fails ends it, so that all that passed hold together at
    this level. The order must not come from the losses.

    >>> learn_then_test([0.0, 0.01, 0.02, 0.04, 0.02], 300, 0.05)
    2
    """
    _check_share(level, "level")
    last = None
    for place, risk in enumerate(risks):
        if hoeffding_bentkus(risk, n, limit) > 1 - level:
            break
        last = place
    return last


@check_arguments
def conformal_threshold(bad: Sequence[float], rate: float, grid: Sequence[float]) -> float | None:
    """The lowest threshold of the grid that keeps false passes to this rate on average over labellings, or None.

    A score passes that meets the threshold. This is weaker than what `learn_threshold` promises: in about half of all
    labellings the rate will be exceeded. It serves as a check. It needs 1 / rate - 1 bad outputs. A. N. Angelopoulos,
    S. Bates, A. Fisch, L. Lei, T. Schuster, Conformal Risk Control, arXiv 2208.02814. Raises ValueError for scores that
    are NaN, and a rate not between 0 and 1.

    >>> conformal_threshold([0.2, 0.3, 0.4, 0.5], 0.2, [0.1, 0.3, 0.45, 0.6])
    0.6
    """
    _check_share(rate, "rate")
    if any(map(math.isnan, bad)):
        raise ValueError("a threshold needs scores; leave out what could not be scored")
    most = rate * (len(bad) + 1) + ROUNDING
    held = [threshold for threshold in grid if sum(score >= threshold for score in bad) + 1 <= most]
    return min(held, default=None)


def _check_share(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
