"""Looking after every case: intervals that hold at all times at once, so that a run may stop when they have decided."""

import math
from typing import Any

from evalmark.errors import need

from .intervals import LEVEL, Interval

STEPS = 1000
"""So fine is the grid of possible means."""


class Wealth:
    """What bets against possible means have come to, value after value: large where the values do not fit.

    Of a true mean it exceeds 1 / (1 - level) at any time with a probability of at most 1 - level, whatever the values
    from 0 to 1 are, as long as they are drawn with that mean given those before. Half of the money is bet on more,
    half on less, and the larger of the two counts. `means` is one mean or an array of them; a value may be an array
    too, one for each of many runs side by side. I. Waudby-Smith, A. Ramdas, Estimating means of bounded random
    variables by betting, JRSS B 86 (2024), arXiv 2010.09686.
    """

    def __init__(self, means: Any, level: float = LEVEL, planned: int | None = None) -> None:
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        if planned is not None and planned < 1:
            raise ValueError(f"the number of values that is planned must be at least 1, got {planned!r}")
        self._numpy = numpy = need("numpy")
        self._means = numpy.asarray(means, dtype=numpy.float64)
        with numpy.errstate(divide="ignore"):
            self._most = 0.5 / self._means, 0.5 / (1 - self._means)  # never more than half of the money
        self._planned = planned
        self._stake = 2 * math.log(2 / (1 - level))
        self._more: Any = numpy.zeros_like(self._means)
        self._less: Any = numpy.zeros_like(self._means)
        self._total: Any = 0.0
        self._squares: Any = 0.25
        self.n = 0

    @property
    def logarithm(self) -> Any:
        """The natural logarithm of the wealth against each mean."""
        return self._numpy.maximum(self._more, self._less) - math.log(2)

    def take(self, value: Any) -> None:
        """Bets on a value that is not yet seen, and sees it; it must be from 0 to 1."""
        numpy, self.n = self._numpy, self.n + 1
        # The spread of the values before is squares / n; bets that shrink as the root of n log n suit all times alike.
        times = math.log1p(self.n) if self._planned is None else self._planned / self.n
        bet = numpy.sqrt(self._stake / (self._squares * times))
        self._more = self._more + numpy.log1p(numpy.minimum(bet, self._most[0]) * (value - self._means))
        self._less = self._less + numpy.log1p(numpy.minimum(bet, self._most[1]) * (self._means - value))
        self._total = self._total + value
        apart = value - (0.5 + self._total) / (self.n + 1)
        self._squares = self._squares + apart * apart


class BettingSequence:
    """An interval for the mean of values within bounds that holds after every value at once: look as often as you like.

    For pass or fail, scores from 0 to 1, and paired differences with `bounds=(-1, 1)`. Cases have to come in random
    order. With the given level the true mean never leaves `low` to `high`, from the first value to the last one; so a
    run may stop at any time for any reason. The ends lie on a grid of 1,000 steps, rounded outwards. A value takes
    some 0.05 ms.

    >>> seen = BettingSequence()
    >>> for passed in [1, 1, 0, 1, 1, 1, 0, 1, 1, 1] * 5:
    ...     seen.take(passed)
    >>> seen.n, seen.low, seen.high
    (50, 0.614, 0.935)
    """

    def __init__(
        self, level: float = LEVEL, bounds: tuple[float, float] = (0.0, 1.0), planned: int | None = None
    ) -> None:
        start, end = bounds
        if not (math.isfinite(start) and math.isfinite(end) and start < end):
            raise ValueError(f"bounds must be two finite numbers, the lower one first, got {bounds!r}")
        self.level = level
        self._bounds = bounds
        self._wealth = Wealth(need("numpy").arange(STEPS + 1) / STEPS, level, planned)
        self._enough = -math.log1p(-level)
        self._low, self._high = 0, STEPS

    @property
    def n(self) -> int:
        """How many values were taken."""
        return self._wealth.n

    @property
    def low(self) -> float:
        return self._end(self._low)

    @property
    def high(self) -> float:
        return self._end(self._high)

    @property
    def interval(self) -> Interval:
        return Interval(low=self.low, high=self.high, level=self.level, method="betting confidence sequence")

    def take(self, value: float) -> None:
        """Takes the next value; raises ValueError when it is not within the bounds."""
        start, end = self._bounds
        if not start <= value <= end:
            raise ValueError(f"values must be from {start:g} to {end:g}, got {value!r}")
        self._wealth.take((value - start) / (end - start))
        possible = need("numpy").flatnonzero(self._wealth.logarithm < self._enough)
        if len(possible):
            # The true mean may lie between the last impossible point and the first possible one.
            low, high = max(self._low, int(possible[0]) - 1), min(self._high, int(possible[-1]) + 1)
            # Values that drift can leave nothing over; then what was known before stays.
            self._low, self._high = (low, high) if low <= high else (self._low, self._high)

    def _end(self, place: int) -> float:
        start, end = self._bounds
        return start + (end - start) * place / STEPS


def asymptotic_half_width(spread: float, n: int, level: float = LEVEL, best_at: int = 100) -> float:
    """How far a mean of `n` values with this standard deviation may be off, at all times at once, once they are many.

    `best_at` is the number of values at which it is to be the shortest. It is 1.5 to 1.7 times as wide as an interval
    that is looked at once. It holds in the limit only; `BettingSequence` holds from the first value on. I.
    Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas, Time-uniform central limit theory and asymptotic
    confidence sequences, Annals of Statistics 52 (2024).

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


def decided(interval: Interval, bar: float) -> bool | None:
    """Whether the mean reaches the bar: True when all of the interval does, False when none of it does, None before.

    >>> seen = BettingSequence().interval
    >>> decided(seen, 0.9) is None
    True
    """
    if interval.low is not None and interval.low >= bar:
        return True
    if interval.high is not None and interval.high < bar:
        return False
    return None
