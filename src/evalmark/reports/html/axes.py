"""Axes of pictures: ticks at round numbers, and where on the picture a number stands."""

import math
from dataclasses import dataclass
from typing import Literal

from evalmark.reports.text import numbers
from evalmark.reports.text.numbers import percent
from evalmark.stats.inference.intervals import Interval

Unit = Literal["", "share", "dollars", "count"]
_SAME = 1e-9
"""Numbers that differ by less than this part of themselves count as one; no picture could show them apart."""
_NARROW = 0.02
"""Shares nearer to each other than this are drawn with some room around them: there is none below 0 and above 1."""
_LARGEST = 1e300
"""Beyond, sums of two numbers may have no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A line of numbers from one place of the picture to another, in units of the picture."""

    low: float
    high: float
    ticks: tuple[float, ...]
    start: float
    """Where `low` stands."""
    end: float
    unit: Unit = ""

    def at(self, value: float) -> float:
        """Where a number stands; what lies beyond an end, and what is no number, stands at the end nearest to it."""
        part = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        part = 0.0 if math.isnan(part) else min(1.0, max(0.0, part))
        return self.start + (self.end - self.start) * part

    @property
    def words(self) -> tuple[str, ...]:
        """What stands at each tick, all with the same number of digits."""
        step = self.ticks[1] - self.ticks[0]
        return tuple(said(tick, step, self.unit) for tick in self.ticks)


def axis(low: float, high: float, place: tuple[float, float], *, unit: Unit = "", most: int = 6) -> Axis:
    """The axis that holds two numbers and begins and ends at a tick; `place` says where it stands.

    >>> axis(0.13, 0.78, (0, 100)).ticks
    (0.0, 0.2, 0.4, 0.6, 0.8)
    """
    if unit == "share" and high - low < _NARROW:
        low, high = max(0.0, low - _NARROW), min(1.0, high + _NARROW)
    found = ticks(low, high, most, whole=unit == "count")
    return Axis(low=found[0], high=found[-1], ticks=found, start=place[0], end=place[1], unit=unit)


def ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> tuple[float, ...]:
    """At least two and about `most` multiples of 1, 2 or 5 times a power of ten, the first and last around both numbers.

    With `whole` they are whole numbers. Numbers that are not finite count as 0.

    >>> ticks(0, 27), ticks(0.97, 1.0, 4), ticks(0, 2, whole=True)
    ((0.0, 10.0, 20.0, 30.0), (0.97, 0.98, 0.99, 1.0), (0.0, 1.0, 2.0))
    """
    low, high = _apart(*sorted((_finite(low), _finite(high))))
    rough = high / (most - 1) - low / (most - 1)
    power = math.floor(math.log10(rough))
    digit = next((digit for digit in (1, 2, 5) if digit * 10.0**power >= rough * (1 - _SAME)), 10)
    if digit == 10:
        digit, power = 1, power + 1
    if whole and power < 0:
        digit, power = 1, 0
    first = math.floor(_multiples(low, digit, power) + _SAME)
    last = max(first + 1, math.ceil(_multiples(high, digit, power) - _SAME))
    return tuple(_times(number * digit, power) for number in range(first, last + 1))


def said(value: float, step: float, unit: Unit = "") -> str:
    """A tick in as many digits as the step between two of them needs.

    >>> said(0.4, 0.2, "share"), said(0.002, 0.001, "dollars"), said(20_000, 5_000), said(0.15, 0.05)
    ('40 %', '$0.002', '20,000', '0.15')
    """
    if unit == "share":
        value, step = 100 * value, 100 * step
    digits = max(0, -math.floor(math.log10(abs(step)) + _SAME))
    # Without a minus before a 0 that was rounded.
    words = f"{value + 0.0:z,.{digits}f}" if digits <= 9 and abs(value) < 1e9 else f"{value:z.4g}"
    return {"share": f"{words} %", "dollars": f"${words}"}.get(unit, words)


def figure(value: float, unit: Unit) -> str:
    """A figure of a picture as the table beside it has it.

    >>> figure(0.61275, ""), figure(0.61275, "share")
    ('0.613', '61.3 %')
    """
    return percent(value) if unit == "share" else numbers.figure(value)


def extent(value: float, interval: Interval | None) -> tuple[float, ...]:
    """What an axis has to hold of a figure: the figure, then both ends of its interval where they are known."""
    ends = None if interval is None else interval.ends
    return (value, *(ends or ()))


def _finite(number: float) -> float:
    return max(-_LARGEST, min(_LARGEST, float(number))) if math.isfinite(number) else 0.0


def _apart(low: float, high: float) -> tuple[float, float]:
    """Two numbers that an axis can tell apart."""
    size = max(abs(low), abs(high))
    if size < 1 / _LARGEST:
        return 0.0, 1.0
    if high - low > _SAME * size:
        return low, high
    return (low, 2 * high) if low > 0 else (2 * low, 0.0)


def _multiples(value: float, digit: int, power: int) -> float:
    """How often `digit` times a power of ten goes into a number; a power below 1 is no binary number, its inverse is."""
    return value / digit / 10.0**power if power >= 0 else value / digit * 10.0**-power


def _times(number: int, power: int) -> float:
    return number * 10.0**power if power >= 0 else number / 10.0**-power
