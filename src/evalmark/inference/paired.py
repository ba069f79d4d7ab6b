"""Tests of pairs: whether the differences between two sides can be luck."""

from evalmark.errors import need


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
