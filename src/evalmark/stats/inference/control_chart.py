"""Control limits for a mean that is measured repeatedly on the same cases."""

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalmark.core.lazy import need

FALSE_ALARMS = 0.05
"""The probability, at most, that any run of an unchanged series is outside of its limits, however many runs there are."""
_TIE_DRAWS = 200
"""Random draws of the ranks of tied sums; a run is outside if at least half of them agree."""
_POWERS = (0.1, 0.25, 0.5)
"""Powers of the bets: small ones win much from one very unlikely run, large ones a little from each of many."""
_EARLY = 6
"""A change is as likely in the first 3 * _EARLY runs as in all later ones."""
_GRID_STEPS = 4_000
"""Steps of the grid on which sums are computed, unless all values are whole numbers."""
_MAX_WHOLE = 20_000
"""The largest sum of whole numbers that is computed without a grid."""
_MAX_DIRECT = 2_000
"""The largest number of probabilities that are convolved without a Fourier transform."""
_MAX_MOVED = 100
"""The largest number of units with equal values in all runs that are assumed to change, to find a limit."""

Side = Literal["below", "above"]
Unit = Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPoint:
    """A run on a control chart."""

    value: float
    """The mean over all units."""
    low: float | None
    """The lowest value within the limits; None if no value of these units would be below them."""
    high: float | None
    """The highest value within the limits; None if no value of these units would be above them."""
    outside: Side | None
    """The side on which the run is outside of its limits; None if it is within them."""
    compared: int
    """The number of units that earlier runs of the series have too."""

    @property
    def passed_limit(self) -> float | None:
        """The limit that the value is beyond; None if it is within its limits."""
        return {"below": self.low, "above": self.high, None: None}[self.outside]


class ControlChart:
    """Detects run by run whether a mean has changed, with limits that account for looking at every run.

    If nothing changes, the values of each unit (a case, or a cluster of cases) are exchangeable between runs: any order
    is equally likely. Then the rank of a run's sum, among all sums that result from exchanging its values with those of
    earlier runs, is uniform and independent of earlier ranks. Bets on low ranks, and others on high ranks, gain much only
    if that is wrong: the probability that they ever multiply their stake by 1 / p is at most p (Ville's inequality). The
    bets are a mixture of power martingales (V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World,
    2005); a part of the stake enters with each run, since a change may come at any run. Ranks of tied sums are random, so
    the bets are placed on many draws, and a run is outside if at least half of them have reached the goal; each draw has
    half of the permitted false alarms, which makes up for that (Markov's inequality).

    A run outside of its limits is the last one of its series: the next one belongs on a new chart.

    Args:
        false_alarms: The largest probability of a run outside in a series without any change, above 0 and below 1.
        ends: The least and the greatest possible value; None without known ends.

    >>> chart = ControlChart()
    >>> steady = {name: (1.0, 1) for name in "abcdefghijkl"}
    >>> for _ in range(20):
    ...     point = chart.add(steady)
    >>> (point.value, point.low, point.high, point.outside)
    (1.0, 0.75, None, None)
    >>> chart.add({name: (float(name > "e"), 1) for name in steady}).outside
    'below'
    """

    def __init__(self, false_alarms: float = FALSE_ALARMS, ends: tuple[float, float] | None = (0.0, 1.0)) -> None:
        if not 0 < false_alarms < 1:
            raise ValueError(f"false_alarms must be between 0 and 1, got {false_alarms!r}")
        self._goal = 4 / false_alarms  # half for each side, and half of that for each draw of ties
        self._ends = ends
        self._values: dict[Unit, list[float]] = {}
        self._looks = 0
        self._bets = (_Bets(self._goal), _Bets(self._goal))

    def add(self, run: Mapping[Unit, tuple[float, int]], repeated: Collection[Unit] = ()) -> ChartPoint:
        """Add the next run of the series and return its control limits.

        Args:
            run: For each unit the sum and the number of its values. A unit consists of the same cases, each with as many
                values, in every run that has it. Units may come and go for reasons that do not depend on their values.
            repeated: The units whose values are those of an earlier run once more, such as of recorded replies. They count
                in the mean only.

        Returns:
            The mean of the run, its limits, and whether it is outside.

        Raises:
            ValueError: the run has no value.
        """
        n = sum(count for _, count in run.values())
        if n < 1:
            raise ValueError("a run on a control chart needs at least one value")
        total = math.fsum(value for value, _ in run.values())
        drawn = [unit for unit in run if unit not in repeated]
        for unit in drawn:
            self._values.setdefault(unit, []).append(run[unit][0])
        seen = {unit: self._values[unit] for unit in drawn if len(self._values[unit]) > 1}
        if not seen:
            return ChartPoint(value=total / n, low=None, high=None, outside=None, compared=0)
        self._looks += 1
        ties = need("numpy").random.default_rng(self._looks).random(_TIE_DRAWS)
        below, above = self._bets
        sums = _possible_sums(list(seen.values()))
        down = below.distance(sums, ties, self._looks, self._unchanged(seen, run, 0))
        up = above.distance(sums.mirrored, ties, self._looks, self._unchanged(seen, run, 1))
        outside: Side | None = "below" if below.is_won else "above" if above.is_won else None
        return ChartPoint(
            value=total / n,
            low=None if down is None else (total - down) / n,
            high=None if up is None else (total + up) / n,
            outside=outside,
            compared=len(seen),
        )

    def _unchanged(
        self, seen: Mapping[Unit, Sequence[float]], run: Mapping[Unit, tuple[float, int]], end: int
    ) -> Iterator[tuple[float, int]]:
        """Yield, for units with equal values in all runs, the distance from an end of the scale and the number of runs."""
        if self._ends is None:
            return
        distances = [
            (abs(self._ends[end] * run[unit][1] - values[0]), len(values))
            for unit, values in seen.items()
            if min(values) == max(values)
        ]
        yield from sorted((one for one in distances if one[0]), key=lambda one: (-one[1], one[0]))[:_MAX_MOVED]


class _Bets:
    """Bets on low ranks in one series: for each draw of ties, the capital of each power of the bets.

    The reserve is the part of the stake that is not bet yet.
    """

    def __init__(self, goal: float) -> None:
        numpy = self._numpy = need("numpy")
        self._goal = goal
        self._powers = numpy.asarray(_POWERS)[:, None]
        self._capital = numpy.zeros((len(_POWERS), _TIE_DRAWS))
        self._reserve = 1.0
        self._won = numpy.zeros(_TIE_DRAWS, dtype=bool)

    @property
    def is_won(self) -> bool:
        """Whether the capital of at least half of the draws has ever reached the goal."""
        return bool(2 * self._won.sum() >= _TIE_DRAWS)

    def distance(
        self, sums: "_PossibleSums", ties: Any, look: int, unchanged: Iterator[tuple[float, int]]
    ) -> float | None:
        """Bet on the rank of the run, and return how far its sum is above the lowest one within the limit.

        It is None if no sum is below the limit.
        """
        reserve = (1 + look / _EARLY) ** -0.5
        self._capital += (self._reserve - reserve) / len(_POWERS)
        self._reserve = reserve

        def wins(ranks: tuple[float, float]) -> bool:
            return bool(2 * (self._won | self._wins(self._after(ranks, ties))).sum() >= _TIE_DRAWS)

        found = sums.distance(wins)
        if found is None:
            found = _distance_beyond(sums, wins, unchanged)
        self._capital = self._after(sums.ranks(sums.place), ties)
        self._won |= self._wins(self._capital)
        return found

    def _after(self, ranks: tuple[float, float], ties: Any) -> Any:
        drawn = self._numpy.maximum(ranks[0] + ties * (ranks[1] - ranks[0]), 1e-300)
        return self._capital * self._powers * drawn ** (self._powers - 1)

    def _wins(self, capital: Any) -> Any:
        return capital.sum(axis=0) + self._reserve >= self._goal


@dataclass(frozen=True, slots=True)
class _PossibleSums:
    """The distribution of a run's sum if the values of each unit are exchangeable between runs."""

    chances: Any
    """The probability of each sum, from the lowest on."""
    cumulated: Any
    """The probability of each sum or a lower one."""
    place: int
    """The place of the run's own sum."""
    step: float
    """The distance of two sums."""

    @property
    def mirrored(self) -> "_PossibleSums":
        chances = self.chances[::-1]
        return _PossibleSums(chances, chances.cumsum(), len(chances) - 1 - self.place, self.step)

    def ranks(self, place: int) -> tuple[float, float]:
        """Return the probability of lower sums, and that of this one or a lower one."""
        return (float(self.cumulated[place - 1]) if place else 0.0), float(self.cumulated[place])

    def distance(self, wins: Callable[[tuple[float, float]], bool]) -> float | None:
        """Return how far the run's sum is above the lowest one that does not win; None if none wins."""
        possible = need("numpy").flatnonzero(self.chances)
        first, end = 0, len(possible)
        while first < end:
            middle = (first + end) // 2
            if wins(self.ranks(int(possible[middle]))):
                first = middle + 1
            else:
                end = middle
        if first == 0:
            return None
        lowest = int(possible[min(first, len(possible) - 1)])
        return (self.place - lowest) * self.step


def _distance_beyond(
    sums: _PossibleSums, wins: Callable[[tuple[float, float]], bool], unchanged: Iterator[tuple[float, int]]
) -> float | None:
    """Return the distance of a limit that is passed only if units with equal values so far change."""
    rank = float(sums.cumulated[int(need("numpy").flatnonzero(sums.chances)[0])])
    distance = (sums.place - int(need("numpy").flatnonzero(sums.chances)[0])) * sums.step
    for further, runs in unchanged:
        rank /= runs
        if wins((0.0, rank)):
            return distance
        distance += further
    return None


def _possible_sums(values: Sequence[Sequence[float]]) -> _PossibleSums:
    """Return the distribution of the sum of one value of each unit; the last value of each is that of the run."""
    numpy = need("numpy")
    changing = [unit for unit in values if min(unit) < max(unit)]
    span = math.fsum(max(unit) - min(unit) for unit in changing)
    is_whole = span <= _MAX_WHOLE and all(value.is_integer() for unit in changing for value in unit)
    step = 1.0 if is_whole or not changing else span / max(_GRID_STEPS, 4 * len(changing))
    parts, place = [numpy.ones(1)], 0
    for unit in changing:
        places = numpy.rint((numpy.asarray(unit) - min(unit)) / step).astype(int)
        parts.append(numpy.bincount(places) / len(unit))
        place += int(places[-1])
    while len(parts) > 1:
        parts.sort(key=len)
        paired = [_convolved(one, two) for one, two in zip(parts[::2], parts[1::2], strict=False)]
        parts = paired + parts[len(parts) // 2 * 2 :]
    return _PossibleSums(parts[0], parts[0].cumsum(), place, step)


def _convolved(one: Any, two: Any) -> Any:
    numpy = need("numpy")
    if min(len(one), len(two)) <= _MAX_DIRECT:
        return numpy.convolve(one, two)
    size = len(one) + len(two) - 1
    product = numpy.fft.rfft(one, size) * numpy.fft.rfft(two, size)
    return numpy.maximum(numpy.fft.irfft(product, size), 0.0)
