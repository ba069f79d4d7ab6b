"""How a figure went from run to run: a line for each suite or dataset, with the interval of every run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from evalmark.core.text import one_line
from evalmark.core.values.words import count
from evalmark.stats.inference.intervals import Interval

from .axes import Axis, Unit, axis, extent, figure
from .placing import spread_out, thinned, width
from .svg import path, sentence, shape, svg, upright, words

Outcome = Literal["pass", "fail", "cannot tell", ""]
"""What a gate said; empty: nothing, or not yet."""

WIDE, HIGH = 900, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 14, 28, 34
_NAMES, _STEP = 170, 15
"""Room for the names of lines at the right, and how far they are apart."""
DASHES = 6
"""So many kinds of lines can be told apart."""
SIGNS = {"pass": "\u2713", "fail": "\u2717", "cannot tell": "?", "": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A run on a line."""

    place: int
    """Among all runs of the picture, counted from 0."""
    value: float
    interval: Interval | None
    outcome: Outcome
    told: str
    """The run, where one points at it."""
    said: str = ""
    """The value as a table has it."""
    around: str = ""
    """Its interval as a table has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What runs have in common, and where they stopped."""

    name: str
    stops: Sequence[Stop]


def course_picture(lines: Sequence[Line], days: Sequence[str], of: str, *, unit: Unit = "") -> Markup:
    """Runs from left to right, oldest first, by the day of each in `days`; nothing without a stop.

    `of` says what is drawn. A failed gate is a cross, a passed one a dot, an open one a hollow square, none a ring.
    """
    stops = [stop for line in lines for stop in line.stops]
    if not stops:
        return Markup()
    names = len(lines) > 1
    across = Axis(
        low=-0.5,
        high=max(0.5, len(days) - 0.5),
        ticks=(0.0, 1.0),
        start=_LEFT,
        end=WIDE - _RIGHT - (_NAMES if names else 0),
    )
    known = [n for stop in stops for n in extent(stop.value, stop.interval)]
    up = axis(min(known), max(known), (HIGH - _BOTTOM, _TOP), unit=unit)
    parts = [*upright(up, _LEFT, across.end, of), *_days(days, across)]
    for number, line in enumerate(lines):
        parts += _drawn(line, number, across, up)
    if names:
        parts += _names(lines, across, up)
    return svg((WIDE, HIGH), f"{of[:1].upper()}{of[1:]} over runs", _told(lines, unit), parts, "wide")


def _told(lines: Sequence[Line], unit: Unit) -> str:
    def of(line: Line) -> str:
        first, last = line.stops[0], line.stops[-1]
        failed = sum(stop.outcome == "fail" for stop in line.stops)
        gates = f", {count(failed, 'failed gate')}" if failed else ""
        ends = f"from {figure(first.value, unit)} to {figure(last.value, unit)}"
        return f"{line.name}: {count(len(line.stops), 'run')}, {ends}{gates}"

    return sentence(*(of(line) for line in lines if line.stops))


def _days(days: Sequence[str], across: Axis) -> list[Markup]:
    """The axis of runs; a day stands once, at its first run, where there is room."""
    first = [number for number, day in enumerate(days) if day and (number == 0 or days[number - 1] != day)]
    places = [across.at(number) for number in first]
    y = HIGH - _BOTTOM
    parts = [path("axis", (across.start, y), (across.end, y))]
    for k in thinned(places, [days[number] for number in first]):
        said = days[first[k]]
        half = width(said) / 2
        parts.append(path("axis", (places[k], y), (places[k], y + 4)))
        parts.append(words(min(WIDE - half, max(half, places[k])), y + 17, said, anchor="middle"))
    return parts


def _drawn(line: Line, number: int, across: Axis, up: Axis) -> list[Markup]:
    kind = f"line-{number % DASHES}"
    at = [(across.at(stop.place), up.at(stop.value)) for stop in line.stops]
    parts = [path(f"course {kind}", *at)] if len(at) > 1 else []
    for stop, (x, _) in zip(line.stops, at, strict=True):
        ends = [up.at(end) for end in extent(stop.value, stop.interval)[1:]]
        parts += [path(f"whisker {kind}", (x, ends[0]), (x, ends[1]))] if len(ends) == 2 else []
    for stop, (x, y) in zip(line.stops, at, strict=True):
        parts.append(_mark(stop, kind, x, y))
    return parts


def _mark(stop: Stop, kind: str, x: float, y: float) -> Markup:
    if stop.outcome == "fail":
        cross = f"M{x - 5:.1f} {y - 5:.1f}L{x + 5:.1f} {y + 5:.1f}M{x - 5:.1f} {y + 5:.1f}L{x + 5:.1f} {y - 5:.1f}"
        return shape("path", "cross", stop.told, d=cross)
    if stop.outcome == "cannot tell":
        return shape("rect", f"hollow {kind}", stop.told, x=x - 4, y=y - 4, width=8.0, height=8.0)
    return shape("circle", f"{'stop' if stop.outcome else 'open'} {kind}", stop.told, cx=x, cy=y, r=4.0)


def _names(lines: Sequence[Line], across: Axis, up: Axis) -> list[Markup]:
    """The name of each line at the right, near its last stop, with a piece of the line before it."""
    last = [(up.at(line.stops[-1].value), number) for number, line in enumerate(lines) if line.stops]
    ordered = sorted(last)
    places = spread_out([y for y, _ in ordered], _STEP, HIGH - _BOTTOM)
    parts: list[Markup] = []
    for y, (_, number) in zip(places, ordered, strict=True):
        kind, x = f"line-{number % DASHES}", across.end + 10
        parts.append(path(f"course {kind}", (x, y), (x + 24, y)))
        parts.append(words(x + 30, y + 4, one_line(lines[number].name, 18), f"named {kind}"))
    return parts
