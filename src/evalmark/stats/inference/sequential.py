"""Intervals that are valid after every case, so that a run may stop as soon as they decide."""

import math
from typing import Any

from evalmark.core.lazy import need

from .argument_checks import check_arguments
from .intervals import LEVEL, Interval

STEPS = 1000
"""The number of steps of the grid of possible means."""
SLACK = 1e-9
"""The tolerance for rounding errors of sums."""


class Wealth:
    """The wealth of bets against possible means, which grows where the values contradict a mean.

    Against the true mean it exceeds 1 / (1 - level) at any time with a probability of at most 1 - level. The
    values lie between 0 and 1, and each has that mean, given those before. Half of the wealth bets on higher
    values, half on lower ones, and the larger of the two counts. `means` is a mean or an array of means; a value
    may be an array, too, with one entry for each of several runs. I. Waudby-Smith, A. Ramdas, Estimating means of
    bounded random variables by betting, JRSS B 86 (2024), arXiv 2010.09686.

    With `size`, the values are drawn without replacement from that many, and the mean is that of all of them:
    each bet is made against the mean of the remaining values, and a mean that they can no longer reach is
    rejected (section 5 of the same paper).
    """

    def __init__(
        self, means: Any, level: float = LEVEL, planned: int | None = None, *, size: int | None = None
    ) -> None:
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        for number, what in ((planned, "that is planned"), (size, "there are")):
            if number is not None and number < 1:
                raise ValueError(f"the number of values {what} must be at least 1, got {number!r}")
        self._numpy = numpy = need("numpy")
        self._means = numpy.asarray(means, dtype=numpy.float64)
        self._most = self._limits(self._means)
        self._planned, self._size = planned, size
        self._possible: Any = True
        self._stake = 2 * math.log(2 / (1 - level))
        self._more: Any = numpy.zeros_like(self._means)
        self._less: Any = numpy.zeros_like(self._means)
        self._total: Any = 0.0
        self._squares: Any = 0.25
        self.n = 0

    @property
    def logarithm(self) -> Any:
        """The natural logarithm of the wealth against each mean; infinite for impossible means."""
        wealth = self._numpy.maximum(self._more, self._less) - math.log(2)
        return wealth if self._size is None else self._numpy.where(self._possible, wealth, math.inf)

    def add(self, value: Any) -> None:
        """Bet on the next value, then observe it; it has to lie between 0 and 1, and to be one of `size`."""
        means = self._means if self._size is None else self._of_the_rest(self._size)
        numpy, self.n = self._numpy, self.n + 1
        # The spread of the values so far is squares / n; bets that shrink with the root of n log n suit all times.
        times = math.log1p(self.n) if self._planned is None else self._planned / self.n
        bet = numpy.sqrt(self._stake / (self._squares * times))
        self._more = self._more + numpy.log1p(numpy.minimum(bet, self._most[0]) * (value - means))
        self._less = self._less + numpy.log1p(numpy.minimum(bet, self._most[1]) * (means - value))
        self._total = self._total + value
        apart = value - (0.5 + self._total) / (self.n + 1)
        self._squares = self._squares + apart * apart
        if self._size is not None:
            rest = self._size * self._means - self._total
            self._possible = self._possible & (rest > -SLACK) & (rest < self._size - self.n + SLACK)

    def _of_the_rest(self, size: int) -> Any:
        """Return the mean of the remaining values under each possible mean, and update the largest bets."""
        if self.n >= size:
            raise ValueError(f"there are {size!r} values, and one more was given")
        means = self._numpy.clip((size * self._means - self._total) / (size - self.n), 0, 1)
        self._most = self._limits(means)
        return means

    def _limits(self, means: Any) -> tuple[Any, Any]:
        """Return the largest bets on higher and lower values: at most half of the wealth."""
        with self._numpy.errstate(divide="ignore"):
            return 0.5 / means, 0.5 / (1 - means)


class BettingSequence:
    """An interval for a mean of bounded values that is valid after every value.

    For pass or fail, scores from 0 to 1, and paired differences with `bounds=(-1, 1)`. Cases have to come in
    random order. With probability `level`, the true mean lies between `low` and `high` after every value, so a
    run may stop at any time for any reason. The ends lie on a grid of 1,000 steps and are rounded outwards. A
    value takes about 0.05 ms.

    With `size`, the interval is for the mean of that many values, of which those seen so far were drawn at random
    without replacement. It is never wider than what the remaining values can change; after the last value it is
    the mean itself.

    Args:
        level: The confidence level, above 0 and below 1.
        bounds: The least and the greatest possible value.
        planned: About how many values will come, which sets the size of the bets; None if unknown.
        size: How many values there are in all, if they are drawn without replacement; None if there is no end.

    Raises:
        ValueError: a setting is out of range.

    >>> seen = BettingSequence()
    >>> for passed in [1, 1, 0, 1, 1, 1, 0, 1, 1, 1] * 5:
    ...     seen.add(passed)
    >>> seen.n, seen.low, seen.high
    (50, 0.614, 0.935)
    >>> whole = BettingSequence(size=4)
    >>> for passed in [1, 1, 0, 1]:
    ...     whole.add(passed)
    >>> whole.low, whole.high
    (0.75, 0.75)
    """

    def __init__(
        self,
        level: float = LEVEL,
        bounds: tuple[float, float] = (0.0, 1.0),
        planned: int | None = None,
        *,
        size: int | None = None,
    ) -> None:
        start, end = bounds
        if not (math.isfinite(start) and math.isfinite(end) and start < end):
            raise ValueError(f"bounds must be two finite numbers, the lower one first, got {bounds!r}")
        self.level = level
        self._bounds = bounds
        self._wealth = Wealth(need("numpy").arange(STEPS + 1) / STEPS, level, planned, size=size)
        self._enough = -math.log1p(-level)
        self._low, self._high = 0, STEPS
        self._size, self._total = size, 0.0

    @property
    def n(self) -> int:
        """How many values were added."""
        return self._wealth.n

    @property
    def low(self) -> float:
        return self._within(self._end(self._low))

    @property
    def high(self) -> float:
        return self._within(self._end(self._high))

    @property
    def interval(self) -> Interval:
        return Interval(low=self.low, high=self.high, level=self.level, method="betting confidence sequence")

    def add(self, value: float) -> None:
        """Add the next value; raises ValueError if it is outside of the bounds."""
        start, end = self._bounds
        if not start <= value <= end:
            raise ValueError(f"values must be from {start:g} to {end:g}, got {value!r}")
        self._wealth.add((value - start) / (end - start))
        self._total += value
        possible = need("numpy").flatnonzero(self._wealth.logarithm < self._enough)
        if len(possible):
            # the true mean may lie between the last impossible grid point and the first possible one
            low, high = max(self._low, int(possible[0]) - 1), min(self._high, int(possible[-1]) + 1)
            # values that drift can leave no possible mean; then the earlier interval stays
            self._low, self._high = (low, high) if low <= high else (self._low, self._high)

    def _within(self, end: float) -> float:
        """Return an end, limited to the mean that results if every remaining value lies at a bound."""
        if self._size is None:
            return end
        low, high = ((self._total + bound * (self._size - self.n)) / self._size for bound in self._bounds)
        return min(max(end, low), high)

    def _end(self, place: int) -> float:
        start, end = self._bounds
        return start + (end - start) * place / STEPS


@check_arguments
def asymptotic_half_width(spread: float, n: int, level: float = LEVEL, best_at: int = 100) -> float:
    """Return the half width of an interval for a mean of `n` values that is valid at all times, for large `n`.

    `best_at` is the number of values at which it is the shortest. It is 1.5 to 1.7 times as wide as an interval
    that is computed once. It is asymptotic; `BettingSequence` is valid from the first value on. I. Waudby-Smith,
    D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas, Time-uniform central limit theory and asymptotic confidence
    sequences, Annals of Statistics 52 (2024).

    >>> round(asymptotic_half_width(0.5, 100), 7)
    0.1517604
    """
    if n < 1 or best_at < 1 or not 0 < level < 1 or not 0 <= spread < math.inf:
        raise ValueError(
            "n and best_at must be at least 1, level between 0 and 1, and the spread a finite number from 0 on"
        )
    log_alpha = math.log1p(-level)
    rate = (-2 * log_alpha + math.log(1 - 2 * log_alpha)) / best_at
    grown = n * rate + 1
    return spread * math.sqrt(2 * grown / (n * n * rate) * (math.log(grown) / 2 - log_alpha))


@check_arguments
def reaches_threshold(interval: Interval, bar: float) -> bool | None:
    """Return whether the mean reaches the threshold: True or False if the whole interval does or does not, otherwise None.

    >>> seen = BettingSequence().interval
    >>> reaches_threshold(seen, 0.9) is None
    True
    """
    if interval.low is not None and interval.low >= bar:
        return True
    if interval.high is not None and interval.high < bar:
        return False
    return None
