"""SVG building blocks: axes, label placement, shapes, and a chart with its table."""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from markupsafe import Markup

from evalmark.reports.text import numbers
from evalmark.reports.text.numbers import percent
from evalmark.stats.inference.intervals import Interval

from .escaping import visible

Unit = Literal["", "share", "dollars", "count", "seconds"]
_SAME = 1e-9
"""Numbers with a smaller relative difference count as equal."""
_LEAST_RANGE = 0.02
"""Smallest range of an axis of shares."""
_LARGEST = 1e300
"""Larger numbers are clipped, so that sums do not overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis that maps numbers to positions, in units of the chart."""

    low: float
    high: float
    ticks: tuple[float, ...]
    start: float
    """Position of `low`."""
    end: float
    unit: Unit = ""

    def at(self, value: float) -> float:
        """Return the position of a number, clipped to the ends of the axis."""
        part = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        part = 0.0 if math.isnan(part) else min(1.0, max(0.0, part))
        return self.start + (self.end - self.start) * part

    @property
    def words(self) -> tuple[str, ...]:
        """Texts of the ticks, all with the same number of digits."""
        step = self.ticks[1] - self.ticks[0]
        return tuple(tick_text(tick, step, self.unit) for tick in self.ticks)


def axis(low: float, high: float, ends: tuple[float, float], *, unit: Unit = "", most: int = 6) -> Axis:
    """Make an axis that spans two numbers and starts and ends at a tick; `ends` gives its positions.

    >>> axis(0.13, 0.78, (0, 100)).ticks
    (0.0, 0.2, 0.4, 0.6, 0.8)
    """
    if unit == "share" and high - low < _LEAST_RANGE:
        low, high = max(0.0, low - _LEAST_RANGE), min(1.0, high + _LEAST_RANGE)
    tick_values = ticks(low, high, most, whole=unit == "count")
    return Axis(low=tick_values[0], high=tick_values[-1], ticks=tick_values, start=ends[0], end=ends[1], unit=unit)


def ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> tuple[float, ...]:
    """Choose about `most` round ticks that span both numbers, at least two.

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


def tick_text(value: float, step: float, unit: Unit = "") -> str:
    """Format a tick with the digits that the step needs.

    >>> tick_text(0.4, 0.2, "share"), tick_text(0.002, 0.001, "dollars"), tick_text(20_000, 5_000), tick_text(0.15, 0.05)
    ('40 %', '$0.002', '20,000', '0.15')
    >>> tick_text(0.15, 0.05, "seconds"), tick_text(1.5, 0.5, "seconds")
    ('150 ms', '1.5 s')
    """
    word, factor = _unit(step, unit)
    value, step = factor * value, factor * step
    digits = max(0, -math.floor(math.log10(abs(step)) + _SAME))
    # Without a minus before a 0 that was rounded.
    text = f"{value + 0.0:z,.{digits}f}" if digits <= 9 and abs(value) < 1e9 else f"{value:z.4g}"
    return f"${text}" if unit == "dollars" else text + word


def _unit(step: float, unit: Unit) -> tuple[str, float]:
    """Return what follows a tick, and the factor of its number."""
    if unit == "seconds":
        return (" s", 1) if step >= 0.1 else (" ms", 1_000) if step >= 1e-4 else (" µs", 1_000_000)
    return (" %", 100) if unit == "share" else ("", 1)


def value_text(value: float, unit: Unit) -> str:
    """Format a value of a chart as in its table.

    >>> value_text(0.61275, ""), value_text(0.61275, "share")
    ('0.613', '61.3 %')
    """
    return percent(value) if unit == "share" else numbers.number_text(value)


def extent(value: float, interval: Interval | None) -> tuple[float, ...]:
    """List the numbers an axis must span: a value and the known ends of its interval."""
    ends = None if interval is None else interval.ends
    return (value, *(ends or ()))


def _finite(number: float) -> float:
    return max(-_LARGEST, min(_LARGEST, float(number))) if math.isfinite(number) else 0.0


def _apart(low: float, high: float) -> tuple[float, float]:
    """Spread two numbers that are too close for an axis."""
    size = max(abs(low), abs(high))
    if size < 1 / _LARGEST:
        return 0.0, 1.0
    if high - low > _SAME * size:
        return low, high
    return (low, 2 * high) if low > 0 else (2 * low, 0.0)


def _multiples(value: float, digit: int, power: int) -> float:
    """Divide by `digit` times a power of ten; negative powers multiply, since 0.1 is not exact in binary."""
    return value / digit / 10.0**power if power >= 0 else value / digit * 10.0**-power


def _times(number: int, power: int) -> float:
    return number * 10.0**power if power >= 0 else number / 10.0**-power


SIZE = 11.5
"""Font size in units of a chart; same as in the style sheet."""
_NARROW, _WIDE = 0.62, 1.05
"""Greatest width of a narrow and a wide character, as a part of its height."""
_GAP = 7.0


class Box(NamedTuple):
    """A rectangle on a chart, whose `top` is less than its `bottom`."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Return whether two boxes overlap."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def holds(self, other: "Box") -> bool:
        """Return whether the other box lies within."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


class PointLabel(NamedTuple):
    """A label to be placed at a point."""

    x: float
    y: float
    text: str


def text_width(text: str) -> float:
    """Estimate the greatest width of a text, in units of a chart.

    >>> text_width("abc") < text_width("東京都")
    True
    """
    return SIZE * sum(_WIDE if unicodedata.east_asian_width(c) in "FW" else _NARROW for c in text)


def box_around(x: float, y: float, reach: float) -> Box:
    """Return the box of a mark."""
    return Box(x - reach, y - reach, x + reach, y + reach)


def place_labels(names: Sequence[PointLabel], occupied: Sequence[Box], room: Box) -> list[Box | None]:
    """Place labels in free space within `room`, earlier ones first; None for one without space.

    A label is placed beside, above or below its point, or at a corner.

    >>> room = Box(0, 0, 100, 40)
    >>> [box is None for box in place_labels([PointLabel(50, 20, "one"), PointLabel(50, 20, "two"), PointLabel(50, 20, "x" * 50)], [], room)]
    [False, False, True]
    """
    boxes = list(occupied)
    placed: list[Box | None] = []
    for name in names:
        free = (box for box in _around(name) if room.holds(box) and not any(box.meets(other) for other in boxes))
        box = next(free, None)
        placed.append(box)
        boxes += [] if box is None else [box]
    return placed


def _around(name: PointLabel) -> Iterator[Box]:
    wide, high = text_width(name.text), SIZE
    left, right, middle = name.x - _GAP - wide, name.x + _GAP, name.x - wide / 2
    above, beside, below = name.y - _GAP - high, name.y - high / 2, name.y + _GAP
    corners = [(x, y) for x in (right, left) for y in (above, below)]
    for x, y in [(right, beside), (left, beside), (middle, above), (middle, below), *corners]:
        yield Box(x, y, x + wide, y + high)


def fitting_labels(places: Sequence[float], labels: Sequence[str]) -> list[int]:
    """Choose labels along an axis that do not overlap; the last one always stays.

    >>> fitting_labels([0, 10, 20, 100], ["one", "two", "three", "four"])
    [0, 3]
    """
    chosen: list[int] = []
    for number in [len(labels) - 1, *range(len(labels) - 1)] if labels else []:
        half = text_width(labels[number]) / 2 + _GAP / 2
        if all(abs(places[number] - places[k]) >= half + text_width(labels[k]) / 2 + _GAP / 2 for k in chosen):
            chosen.append(number)
    return sorted(chosen)


def space_evenly(places: Sequence[float], step: float, end: float) -> list[float]:
    """Move ascending positions so that they are at least a step apart and not beyond the end.

    >>> space_evenly([10, 12, 40], 15, 45)
    [10.0, 25.0, 40.0]
    >>> space_evenly([40, 41], 15, 45)
    [30.0, 45.0]
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(float(place), moved[-1] + step) if moved else float(place))
    for number in reversed(range(len(moved))):
        moved[number] = min(moved[number], float(end) - step * (len(moved) - 1 - number))
    return moved


WIDE, HIGH = 360, 226
LEFT, RIGHT, TOP, BOTTOM = 44, 22, 30, 40
"""Margins of a chart."""
_ABOVE = 17
"""Distance of an axis title above the topmost tick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart, and the table of its numbers."""

    picture: Markup
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The first cell of each names the row."""
    notes: tuple[str, ...] = ()
    """Remarks on what is missing, one sentence each."""
    about: str = ""
    """Title of the table."""


def svg(
    size: tuple[float, float], title: str, description: str, parts: Iterable[Markup], kind: str = "", role: str = "img"
) -> Markup:
    """Build an SVG element; `description` is its text description, `role` is `group` if it holds links."""
    return Markup(
        '<svg class="picture{}" viewBox="0 0 {:.0f} {:.0f}" role="{}"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(f" {kind}" if kind else "", *size, role, visible(title), visible(description), Markup("").join(parts))


def shape(name: str, kind: str, tooltip: str = "", **places: float | str) -> Markup:
    """Build an SVG shape with a CSS class; `tooltip` is its tooltip."""
    values = {key: f"{value:.1f}" if isinstance(value, float) else str(value) for key, value in places.items()}
    attributes = Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in values.items())
    if not tooltip:
        return Markup('<{0} class="{1}"{2}/>').format(Markup(name), kind, attributes)  # noqa: S704  trusted name
    inside = Markup('<{0} class="{1}"{2}><title>{3}</title></{0}>')
    return inside.format(Markup(name), kind, attributes, visible(tooltip))  # noqa: S704  trusted name


def path(kind: str, *points: tuple[float, float], tooltip: str = "") -> Markup:
    """Draw a line through points."""
    return shape("path", kind, tooltip, d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points))


def question_mark(x: float, y: float, kind: str, tooltip: str = "") -> Markup:
    """Draw a question mark on a plate that hides what is behind it."""
    plate = shape("circle", "plate", tooltip, cx=x, cy=y, r=5.5)
    bow = [(x - 2.6, y - 2), (x - 2.4, y - 4.6), (x, y - 4.6), (x + 2.8, y - 4.6), (x + 2.8, y - 2)]
    bow += [(x + 2.8, y - 0.4), (x + 1, y + 0.4), (x, y + 1), (x, y + 2)]
    first, *others = [f"{across:.1f} {down:.1f}" for across, down in bow]
    d = f"M{first}Q{' '.join(others)}M{x:.1f} {y + 4:.1f}L{x:.1f} {y + 4.8:.1f}"
    return plate + shape("path", f"asked {kind}", tooltip, d=d)


def text_element(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> Markup:
    """Draw a text at a position; `anchor` is start, middle or end."""
    inside = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return inside.format(kind or "word", x, y, anchor, visible(text))


def label_element(box: Box, text: str, kind: str = "named") -> Markup:
    """Draw a placed label."""
    return text_element(box.left, box.bottom - 2, text, kind)


def x_axis(axis: Axis, y: float, title: str = "") -> list[Markup]:
    """Draw a horizontal axis with ticks and title; labels without room are left out."""
    places = [axis.at(tick) for tick in axis.ticks]
    labelled = fitting_labels(places, axis.words)
    parts = [path("axis", (axis.start, y), (axis.end, y))]
    parts += [path("axis", (places[k], y), (places[k], y + 4)) for k in labelled]
    parts += [text_element(places[k], y + 18, axis.words[k], anchor="middle") for k in labelled]
    return parts + ([text_element((axis.start + axis.end) / 2, y + 34, title, anchor="middle")] if title else [])


def y_axis(axis: Axis, left: float, right: float, title: str = "") -> list[Markup]:
    """Draw a vertical axis with grid lines and title."""
    parts: list[Markup] = []
    for tick, text in zip(axis.ticks, axis.words, strict=True):
        parts.append(path("grid", (left, axis.at(tick)), (right, axis.at(tick))))
        parts.append(text_element(left - 5, axis.at(tick) + 4, text, anchor="end"))
    return parts + ([text_element(2, min(axis.start, axis.end) - _ABOVE, title)] if title else [])


def sentences(*parts: str) -> str:
    """Join non-empty parts as sentences.

    >>> sentences("27 scores", "", "none below 0.5")
    '27 scores. None below 0.5.'
    """
    return " ".join(f"{part[0].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def evenly_chosen(rows: Sequence[tuple[str, ...]], most: int) -> tuple[tuple[str, ...], ...]:
    """Choose at most `most` rows evenly, including the first and the last.

    >>> evenly_chosen([("a",), ("b",), ("c",), ("d",), ("e",)], 3)
    (('a',), ('c',), ('e',))
    """
    if len(rows) <= most:
        return tuple(rows)
    return tuple(rows[round(k * (len(rows) - 1) / (most - 1))] for k in range(most))
