"""Plans how many cases show a difference, and how small a difference a number of cases shows."""

import math
from statistics import NormalDist

from evalmark.core.lazy import need

from .argument_checks import check_arguments
from .intervals import LEVEL
from .paired import MID_P_SHARE

POWER = 0.8
"""The probability with which a planned difference should be found."""
_NEGLIGIBLE = 1e-12
_MOST_COUNTED = 5_000
"""The largest number of cases whose outcomes are counted one by one."""


@check_arguments
def quantiles(level: float = LEVEL, power: float = POWER) -> float:
    """Return how many standard errors a difference has to measure to be found with probability `power`, at two-sided `level`.

    Raises:
        ValueError: `level` or `power` is not between 0 and 1.

    >>> round(quantiles() ** 2, 10)
    7.8488797343
    """
    for name, share in (("level", level), ("power", power)):
        if not 0 < share < 1:
            raise ValueError(f"{name} must be between 0 and 1, got {share!r}")
    normal = NormalDist()
    return normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)


@check_arguments
def paired_variance(
    omega2: float, sigma2: tuple[float, float] = (0.0, 0.0), repeats: tuple[int, int] = (1, 1)
) -> float:
    """Return the variance of the paired difference of one case.

    `omega2` is the variance over cases of the true difference; `sigma2` the mean variance of repeated scores of
    one case, on either side; `repeats` how many are averaged. Miller, Adding error bars to evals (2024), section
    5.

    >>> round(paired_variance(1 / 9, (1 / 6, 1 / 6), (10, 10)), 6)
    0.144444
    """
    if min(omega2, *sigma2) < 0 or min(repeats) < 1:
        raise ValueError(f"variances are from 0 and repeats from 1, got {omega2!r}, {sigma2!r} and {repeats!r}")
    return omega2 + sigma2[0] / repeats[0] + sigma2[1] / repeats[1]


@check_arguments
def cases_needed(
    effect: float,
    *,
    variance: float | None = None,
    discordance: float | None = None,
    level: float = LEVEL,
    power: float = POWER,
) -> int | None:
    """Return how many cases find a mean difference of `effect`, at least 1; None if no number does.

    Either the `variance` of the difference of one case is known, see `paired_variance`, or for pass and fail the
    `discordance`, the share of cases that pass on one side only: the variance is then the discordance less effect². Miller
    (2024), equation 9; for pass and fail Connor, Sample size for testing differences in proportions for the paired-sample
    design (1987), without its second-order term.

    Args:
        effect: The mean difference to find, in the unit of the scores; above 0.
        variance: The variance of the difference of one case.
        discordance: The share of cases that pass on one side only, above 0 and at most 1.
        level: The confidence level, above 0 and below 1.
        power: The probability of finding the difference, above 0 and below 1.

    Returns:
        The number of cases; None if no number suffices.

    Raises:
        ValueError: neither or both are given, or they cannot be.

    >>> cases_needed(0.03, variance=1 / 9), cases_needed(0.03, discordance=0.1)
    (969, 865)
    """
    if discordance is not None and not abs(effect) <= discordance <= 1:
        raise ValueError(f"discordance must be from the size of the effect to 1, got {discordance!r} for {effect!r}")
    one = _variance(variance, None if discordance is None else discordance - effect * effect)
    if effect == 0:
        return None
    root = quantiles(level, power) * math.sqrt(one) / abs(effect)
    # more cases than anybody has
    return max(1, math.ceil(root * root - 1e-9)) if root < 1e9 else None


@check_arguments
def pairs_power(n: int, effect: float, discordance: float, level: float = LEVEL) -> float:
    """Return how likely the test of passes and failures finds a difference of `effect` with `n` cases.

    Every possible number of changed pairs and every split of them is weighed by its probability, for the test of
    `changed_pairs_test`.

    Args:
        n: cases, from 1.
        effect: the difference of the pass rates, from 0 to 1.
        discordance: the share of cases that pass on one side only, from `effect` to 1.
        level: the confidence level, between 0 and 1.

    Returns:
        The probability that the test finds the difference, in its true direction.

    Raises:
        ValueError: the difference is larger than the share of changing cases.

    >>> round(pairs_power(228, 0.1, 0.3), 3), round(pairs_power(100, 0.1, 0.1), 3)
    (0.797, 0.976)
    """
    if not 0 <= effect <= discordance <= 1 or n < 1 or not discordance:
        raise ValueError(f"discordance must be from the size of the effect to 1, got {discordance!r} for {effect!r}")
    numpy, special, stats = need("numpy"), need("scipy.special"), need("scipy.stats")
    changed = numpy.arange(n + 1)
    likely = stats.binom.pmf(changed, n, discordance)
    changed, likely = changed[likely > _NEGLIGIBLE], likely[likely > _NEGLIGIBLE]
    first = numpy.maximum(stats.binom.ppf((1 - level) / 2, changed, 0.5), 0)
    tails = special.bdtr(first, changed, 0.5), numpy.where(first > 0, special.bdtr(first - 1, changed, 0.5), 0.0)
    # mid-p gives the split itself half its weight
    includes = (changed <= MID_P_SHARE * n) & (tails[0] + tails[1] < 1 - level)
    splits = numpy.where(includes, first, first - 1)
    minority = (discordance - effect) / (2 * discordance)
    found = numpy.where(splits >= 0, special.bdtr(numpy.maximum(splits, 0), changed, minority), 0.0)
    return float((likely * found).sum())


@check_arguments
def pairs_needed(effect: float, discordance: float, level: float = LEVEL, power: float = POWER) -> int | None:
    """Return how many cases find a difference of pass rates of `effect` with probability `power`; None if no number does.

    `pairs_power` decides up to 5,000 cases, `cases_needed` above.

    >>> pairs_needed(0.1, 0.3), pairs_needed(0.1, 0.1), pairs_needed(0.3, 0.4)
    (230, 66, 31)
    """
    likely = cases_needed(effect, discordance=discordance, level=level, power=power)
    if likely is None or likely > _MOST_COUNTED:
        return likely
    low, high = 1, 2 * likely + 20
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if pairs_power(middle, abs(effect), discordance, level) >= power else (middle + 1, high)
        )
    return low


@check_arguments
def smallest_effect(
    n: int,
    *,
    variance: float | None = None,
    discordance: float | None = None,
    level: float = LEVEL,
    power: float = POWER,
) -> float | None:
    """Return the smallest mean difference that `n` cases find with probability `power`; None without cases.

    The inverse of `cases_needed`. A difference in passes is never larger than the discordance. Where `n` cases
    could not find a difference of the whole `discordance`, the result is the one that they find when all changes
    go one way.

    Args:
        n: The number of cases.
        variance: The variance of the difference of one case.
        discordance: The share of cases that pass on one side only, above 0 and at most 1.
        level: The confidence level, above 0 and below 1.
        power: The probability of finding the difference, above 0 and below 1.

    Returns:
        The difference in the unit of the scores; None without cases.

    Raises:
        ValueError: neither or both are given, or they cannot be.

    >>> round(smallest_effect(198, variance=4 / 9), 6), round(smallest_effect(865, discordance=0.1), 4)
    (0.132733, 0.03)
    """
    if discordance is not None and not 0 <= discordance <= 1:
        raise ValueError(f"discordance must be from 0 to 1, got {discordance!r}")
    one, squared = _variance(variance, discordance), quantiles(level, power) ** 2
    if n < 0:
        raise ValueError(f"cases are counted from 0, got {n!r}")
    if n == 0:
        return None
    if discordance is None:
        return math.sqrt(squared * one / n)
    least = squared / (n + squared)
    return math.sqrt(least * max(one, least))


def _variance(variance: float | None, of_shares: float | None) -> float:
    if variance is not None and of_shares is not None:
        raise ValueError("either the variance or the discordance is given, not both")
    one = of_shares if variance is None else variance
    if one is None or not 0 <= one < math.inf:
        raise ValueError(f"the variance, or the discordance, must be a number from 0, got {one!r}")
    return one
