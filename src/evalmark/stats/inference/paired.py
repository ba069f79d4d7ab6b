"""Tests whether changes between paired passes and failures can be chance."""

from dataclasses import dataclass

from evalmark.core.lazy import need

from .argument_checks import check_arguments


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
def mcnemar(b: int, c: int) -> McNemar:
    """Compute four forms of McNemar's test from the number of pairs that changed one way, `b`, and the other, `c`.

    McNemar (1947), Edwards (1948) for the correction, Lancaster (1961) for mid-p. The correction subtracts at
    most the difference of the two counts.

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
