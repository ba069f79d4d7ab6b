"""What targets cost against how good they are, with those that no other beats on both."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evalmark.core.money import money
from evalmark.core.text import one_line
from evalmark.core.values.words import count
from evalmark.reports.text.numbers import DASH, GAP
from evalmark.stats.inference.intervals import Interval

from .axes import Axis, Unit, axis, extent, figure
from .placing import Box, Name, around, placed
from .svg import BOTTOM, LEFT, RIGHT, TOP, Drawn, along, name_in, path, sentence, shape, svg, upright

WIDE, HIGH = 480, 320
_MARK = 5.0
_LONGEST, _SHORT = 26, 12
"""Characters of a name on the picture, the second where there is little room; the table has all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A target."""

    name: str
    cost: float
    """US dollars for an answer."""
    quality: float
    interval: Interval | None
    is_best: bool
    """Whether no other costs less and is as good, or costs as much and is better."""


def scatter_drawn(points: Sequence[Point], quality: str, *, unit: Unit = "", lower: bool = False) -> Drawn | None:
    """Cost to the right, quality upwards with its interval; what is not beaten is filled and joined by a line.

    `quality` says what is good; with `lower`, less of it is better. None without points.
    """
    if not points:
        return None
    across = axis(0, max(p.cost for p in points), (LEFT, WIDE - RIGHT - 20), unit="dollars", most=5)
    known = [n for p in points for n in extent(p.quality, p.interval)]
    up = axis(min(known), max(known), (HIGH - BOTTOM, TOP), unit=unit)
    parts = upright(up, LEFT, WIDE - RIGHT, quality + (" (lower is better)" if lower else ""))
    parts += along(across, HIGH - BOTTOM, "US dollars for an answer")
    best = sorted((p for p in points if p.is_best), key=lambda p: (p.cost, p.quality))
    if len(best) > 1:
        parts.append(path("front", *((across.at(p.cost), up.at(p.quality)) for p in best)))
    for point in points:
        parts += _marked(point, across, up)
    taken = [box for point in points for box in _taken(point, across, up)]
    named = _named(points, across, up, taken)
    parts += named
    hidden = len(points) - len(named)
    title = f"Cost against {quality}"
    told = sentence(
        *(f"{p.name}: {money(p.cost)} for an answer, {figure(p.quality, unit)}" for p in points[:12]),
        f"not beaten on both: {', '.join(p.name for p in best)}",
    )
    return Drawn(
        picture=svg((WIDE, HIGH), title, told, parts, "large"),
        heads=("target", "cost of an answer", quality, "95 % interval", "beaten"),
        rows=tuple(_row(p, unit) for p in points),
        notes=(f"{count(hidden, 'target')} without a name, for want of room.",) if hidden else (),
        about=title,
    )


def _named(points: Sequence[Point], across: Axis, up: Axis, taken: Sequence[Box]) -> list[Markup]:
    """The name of each target where there is room for it, for its beginning at least."""
    held, parts = list(taken), []
    for point in points:
        for longest in (_LONGEST, _SHORT):
            name = Name(across.at(point.cost), up.at(point.quality), one_line(point.name, longest))
            box = placed([name], held, Box(LEFT, TOP - 6, WIDE, HIGH - BOTTOM))[0]
            if box is not None:
                held.append(box)
                parts.append(name_in(box, name.words))
                break
    return parts


def _taken(point: Point, across: Axis, up: Axis) -> list[Box]:
    """The places of its mark and of its interval."""
    x, heights = across.at(point.cost), [up.at(end) for end in extent(point.quality, point.interval)]
    return [around(x, heights[0], _MARK), Box(x - 1.5, min(heights), x + 1.5, max(heights))]


def _marked(point: Point, across: Axis, up: Axis) -> list[Markup]:
    x, y = across.at(point.cost), up.at(point.quality)
    ends = extent(point.quality, point.interval)[1:]
    parts = [path("whisker", (x, up.at(ends[0])), (x, up.at(ends[1])))] if len(ends) == 2 else []
    if point.is_best:
        return [*parts, shape("circle", "dot", point.name, cx=x, cy=y, r=_MARK)]
    return [*parts, shape("rect", "hollow", point.name, x=x - 4, y=y - 4, width=8.0, height=8.0)]


def _row(point: Point, unit: Unit) -> tuple[str, ...]:
    mark = "\u25cf" if point.is_best else "\u25a1"
    ends = [figure(end, unit) for end in extent(point.quality, point.interval)[1:]]
    return (
        f"{mark} {point.name}",
        money(point.cost),
        figure(point.quality, unit),
        f" {DASH} ".join(ends) if len(ends) == 2 else GAP,
        "by none" if point.is_best else "yes",
    )
