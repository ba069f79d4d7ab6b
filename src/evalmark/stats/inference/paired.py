"""Tests whether changes between paired passes and failures can be chance."""

import math
from dataclasses import dataclass

from evalmark.core.lazy import need

from .argument_checks import check_arguments

EXACT = "exact McNemar"
MID_P = "mid-p McNemar"
MID_P_SHARE = 0.7
"""The largest share of changed pairs at which mid-p keeps its level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """McNemar's test of changed pairs; all None without changed pairs."""

    exact: float | None
    """The two-sided p of the binomial distribution with probability 1/2, as `sign_test`."""
    mid_p: float | None
    """The same with half the weight on the observed split; slightly too small at times, where `exact` is too large."""
    chi2: float | None
    """McNemar's statistic, for chi-squared with one degree of freedom; valid for many changed pairs."""
    corrected: float | None
    """The statistic with Edwards' continuity correction."""


@check_arguments
def sign_test(down: int, up: int) -> float | None:
    """Return the exact two-sided p that `down` + `up` fair coins split this unevenly; None without coins.

    Twice the smaller tail of the binomial distribution with probability 1/2, and at most 1. For pairs that passed
    or failed this is the exact form of McNemar's test (Dixon and Mood 1946).

    >>> sign_test(5, 0), sign_test(3, 3), sign_test(0, 0)
    (0.0625, 1.0, None)
    """
    n = down + up
    if not n:
        return None
    return min(1.0, 2 * float(need("scipy.special").bdtr(min(down, up), n, 0.5)))


@check_arguments
def changed_pairs_test(down: int, up: int, n: int) -> tuple[float | None, str]:
    """Test whether `down` changes one way and `up` the other, among `n` pairs, can be chance.

    Mid-p McNemar where at most 70 % of the pairs changed, exact McNemar above. The exact test calls far fewer chance
    changes real than its level allows, so it misses real ones; mid-p alone calls too many where nearly every pair
    changed. Together they stay below 5 % for every share of changed pairs at 5 to 300 pairs (enumerated by
    `benchmarks/pairs.py`), as Fagerland, Lydersen and Laake (2013) found for mid-p.

    Args:
        down: pairs that changed one way, from 0.
        up: pairs that changed the other way, from 0.
        n: all pairs, at least `down` + `up`.

    Returns:
        The two-sided p, None if no pair changed; and the name of the test.

    Raises:
        ValueError: fewer pairs than changed ones.

    >>> changed_pairs_test(5, 0, 60), changed_pairs_test(5, 0, 6), changed_pairs_test(0, 0, 60)
    ((0.03125, 'mid-p McNemar'), (0.0625, 'exact McNemar'), (None, 'none: no case differs'))
    """
    if down + up > n:
        raise ValueError(f"{down + up} of {n} pairs cannot have changed")
    found = mcnemar(down, up)
    if found.mid_p is None:
        return None, "none: no case differs"
    is_frequent = down + up > MID_P_SHARE * n
    return (found.exact, EXACT) if is_frequent else (found.mid_p, MID_P)


@check_arguments
def fewest_changes(alpha: float, *, exact: bool) -> int:
    """Return the smallest number of changes, all in one direction, with a two-sided p below `alpha`.

    >>> fewest_changes(0.05, exact=True), fewest_changes(0.05, exact=False)
    (6, 5)
    """
    return math.floor(-math.log2(alpha)) + 1 + exact


@check_arguments
def mcnemar(b: int, c: int) -> McNemar:
    """Compute four forms of McNemar's test from the number of pairs that changed one way, `b`, and the other, `c`.

    McNemar (1947), Edwards (1948) for the correction, Lancaster (1961) for mid-p. The correction subtracts at
    most the difference of the two counts.

    Args:
        b: How many pairs changed one way.
        c: How many changed the other way.

    Returns:
        The p-values and the statistics.

    Raises:
        ValueError: a count is below 0.

    >>> found = mcnemar(26, 14)
    >>> round(found.exact, 10), round(found.mid_p, 10), found.chi2, found.corrected
    (0.0806904678, 0.059583888, 3.6, 3.025)
    """
    if b < 0 or c < 0:
        raise ValueError(f"changed pairs are counted from 0, got {b!r} and {c!r}")
    n, fewer = b + c, min(b, c)
    if not n:
        return McNemar(exact=None, mid_p=None, chi2=None, corrected=None)
    tail = need("scipy.special").bdtr
    below = float(tail(fewer - 1, n, 0.5)) if fewer else 0.0
    return McNemar(
        exact=sign_test(b, c),
        # a sum of two tails instead of a difference, to avoid cancellation
        mid_p=min(1.0, float(tail(fewer, n, 0.5)) + below),
        chi2=(b - c) ** 2 / n,
        corrected=max(0, abs(b - c) - 1) ** 2 / n,
    )
