"""Upper bounds of error rates, the number of labels they need, and tests of thresholds in sequence."""

import math
from collections.abc import Sequence

from evalmark.core.lazy import need
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL

ROUNDING = 1e-9
"""The tolerance for rounding errors."""


@check_arguments
def upper_bound(k: int, n: int, level: float = LEVEL) -> float:
    """Return the one-sided upper bound of an error rate when `k` of `n` independent cases failed; 1 if n is 0.

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
    """Return how many bad cases, none of which may pass, prove a false-pass rate of at most `rate`.

    The smallest n with (1 - rate)^n <= 1 - level. Raises ValueError unless both are between 0 and 1.

    >>> clean_negatives_needed(0.05), clean_negatives_needed(0.01)
    (59, 299)
    """
    _check_share(rate, "rate")
    _check_share(level, "level")
    return math.ceil(math.log1p(-level) / math.log1p(-rate) - ROUNDING)


@check_arguments
def failures_allowed(n: int, rate: float, level: float = LEVEL) -> int | None:
    """Return how many of `n` bad cases may pass with an upper bound of at most `rate`; None if not even 0 may.

    The largest number for which `upper_bound` is not above `rate`. Raises ValueError unless `rate` and `level`
    are between 0 and 1.

    >>> failures_allowed(58, 0.05), failures_allowed(59, 0.05), failures_allowed(93, 0.05)
    (None, 0, 1)
    """
    _check_share(rate, "rate")
    _check_share(level, "level")
    binomial, allowed = need("scipy.special").bdtr, -1
    # tolerates rounding, as in 1 - 0.95, which is slightly more than 0.05
    while n and binomial(allowed + 1, n, rate) <= (1 - level) * (1 + ROUNDING):
        allowed += 1
    return allowed if allowed >= 0 else None


@check_arguments
def hoeffding_bentkus(risk: float, n: int, limit: float) -> float:
    """Return the p-value of "the true risk is above the limit" when the mean of `n` independent losses from 0 to 1 is `risk`.

    The smaller of Hoeffding's and Bentkus' bounds: A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L.
    Lei, Learn then Test, arXiv 2110.01052. 1 without losses. Raises ValueError unless the risk is from 0 to 1,
    and the limit between them.

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
    """Return the index of the last setting, in a fixed order from the strictest, that keeps the limit; None if none does.

    `risks` holds the mean of the same `n` independent losses from 0 to 1 under each setting. They are tested in
    order by `hoeffding_bentkus` until one fails, so that all accepted ones hold simultaneously. The order must
    not depend on the losses.

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
    """Return the lowest threshold of the grid whose false-pass rate is at most `rate` on average; None if there is none.

    A score that reaches the threshold passes. This is weaker than the guarantee of `learn_threshold`: about half
    of all label sets exceed the rate. It serves as a check. It needs 1 / rate - 1 bad outputs. A. N.
    Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster, Conformal Risk Control, arXiv 2208.02814. Raises
    ValueError for scores that are NaN, and a rate not between 0 and 1.

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
