"""Intervals for a share of passes."""

from dataclasses import dataclass
from statistics import NormalDist

from evalmark.core.lazy import need

from .argument_checks import check_arguments

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval and the method that computed it."""

    low: float | None
    """None, together with `high`, if no valid interval exists; `method` then says why."""
    high: float | None
    level: float = LEVEL
    method: str

    @property
    def known(self) -> bool:
        return self.low is not None

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends; None if no valid interval exists."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval; None if no valid interval exists."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A count of passes with its share."""

    passed: int
    n: int
    value: float | None
    """The share; None if `n` is 0."""
    interval: Interval


@check_arguments
def no_interval(reason: str, level: float = LEVEL) -> Interval:
    """Return an empty interval with the reason."""
    return Interval(low=None, high=None, level=level, method=f"none: {reason}")


@check_arguments
def wilson(passed: float, n: float, level: float = LEVEL, *, method: str = "Wilson") -> Interval:
    """Return the Wilson score interval of a share; it lies within 0 to 1 and never has zero width.

    Args:
        passed: How many passed, from 0 to `n`.
        n: How many there are.
        level: The confidence level, above 0 and below 1.
        method: The name that reports show.

    Returns:
        The interval with its method; its ends are None where there is none.

    Raises:
        ValueError: the counts or the level are out of range.

    >>> found = wilson(9, 10)
    >>> round(found.low, 4), round(found.high, 4)
    (0.5958, 0.9821)
    """
    _check(passed, n, level)
    if n == 0:
        return no_interval("nothing was counted", level)
    p, z2 = passed / n, NormalDist().inv_cdf((1 + level) / 2) ** 2
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = (z2 * p * (1 - p) / n + z2 * z2 / (4 * n * n)) ** 0.5 / (1 + z2 / n)
    # the formula gives p itself at both ends; rounding must not exceed it
    low = 0.0 if passed == 0 else min(p, max(0.0, middle - half))
    high = 1.0 if passed == n else max(p, min(1.0, middle + half))
    return Interval(low=low, high=high, level=level, method=method)


@check_arguments
def clopper_pearson(passed: int, n: int, level: float = LEVEL) -> Interval:
    """Return the exact binomial interval of a share, which has at least the given level and is wider than Wilson's.

    Args:
        passed: How many passed, from 0 to `n`.
        n: How many there are.
        level: The confidence level, above 0 and below 1.

    Returns:
        The interval with its method; its ends are None where there is none.

    Raises:
        ValueError: the counts or the level are out of range.

    >>> found = clopper_pearson(9, 10)
    >>> round(found.low, 4), round(found.high, 4)
    (0.555, 0.9975)
    """
    _check(passed, n, level)
    if n == 0:
        return no_interval("nothing was counted", level)
    quantile = need("scipy.special").betaincinv
    tail = (1 - level) / 2
    low = 0.0 if passed == 0 else float(quantile(passed, n - passed + 1, tail))
    high = 1.0 if passed == n else float(quantile(passed + 1, n - passed, 1 - tail))
    return Interval(low=low, high=high, level=level, method="Clopper-Pearson")


def _check(passed: float, n: float, level: float) -> None:
    if not 0 <= passed <= n:
        raise ValueError(f"passed must be from 0 to n, got {passed!r} of {n!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
