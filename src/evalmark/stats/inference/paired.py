"""Tests of pairs that passed or failed: whether those that changed can be luck."""

from dataclasses import dataclass

from evalmark.core.lazy import need

from .argument_checks import check_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """What McNemar's test says of the pairs that changed; all None where none did."""

    exact: float | None
    """The two-sided p of the binomial distribution with probability 1/2; `sign_test` alone gives the same."""
    mid_p: float | None
    """The same with half the weight on the split that was seen: a little too sure at times, where `exact` is too cautious."""
    chi2: float | None
    """McNemar's own statistic, to be compared with chi-squared of one degree of freedom; for many changed pairs only."""
    corrected: float | None
    """The statistic with Edwards' correction for continuity."""


@check_arguments
def sign_test(down: int, up: int) -> float | None:
    """The exact two-sided p that so many of `down` + `up` coins fall one way; None without coins.

    Twice the smaller tail of the binomial distribution with probability 1/2, and at most 1. For pairs that passed or
    failed this is the exact form of McNemar's test (Dixon and Mood 1946).

    >>> sign_test(5, 0), sign_test(3, 3), sign_test(0, 0)
    (0.0625, 1.0, None)
    """
    n = down + up
    if not n:
        return None
    return min(1.0, 2 * float(need("scipy.special").bdtr(min(down, up), n, 0.5)))


@check_arguments
def mcnemar(b: int, c: int) -> McNemar:
    """McNemar's test in its four forms, from how many pairs changed one way, `b`, and the other, `c`.

    McNemar (1947), Edwards (1948) for the correction, Lancaster (1961) for mid-p. The correction takes one off the
    difference of the two counts, but never more than there is.

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
        # Twice the tail less the split itself, written as a sum of two tails so that nothing cancels.
        mid_p=min(1.0, float(tail(fewer, n, 0.5)) + below),
        chi2=(b - c) ** 2 / n,
        corrected=max(0, abs(b - c) - 1) ** 2 / n,
    )
