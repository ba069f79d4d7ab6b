"""Figures one below the other, each as a dot on its interval: agreement of judges, shares of flipped verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evalmark.core.text import one_line
from evalmark.stats.inference.intervals import Interval

from .axes import Unit, axis, extent
from .svg import RIGHT, WIDE, along, path, shape, svg, words

_ROW, _TOP, _SIDE = 34, 8, 14
_LONGEST = 50
"""Characters of a name above its row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whisker:
    """A figure with its interval."""

    name: str
    value: float | None
    """None where it says nothing; its row then says so."""
    interval: Interval | None
    is_second: bool = False
    """Whether it is of another kind than the others, and has a hollow square in the place of the dot."""


def whisker_picture(rows: Sequence[Whisker], title: str, told: str, *, unit: Unit = "", of: str = "") -> Markup:
    """A row for each figure, with a line at 0 where that is within; nothing without rows.

    `of` says below the axis what the figures are. The axis goes to 1, and below 0 only where a figure does.
    """
    if not rows:
        return Markup()
    known = [n for row in rows for n in _numbers(row)]
    across = axis(min(0.0, *known, 0.0), max(1.0, *known, 1.0), (_SIDE, WIDE - RIGHT), unit=unit)
    bottom = _TOP + _ROW * len(rows) + 6
    parts = [path("grid", (across.at(tick), _TOP), (across.at(tick), bottom)) for tick in across.ticks]
    if across.low < 0:
        parts.append(path("luck", (across.at(0), _TOP), (across.at(0), bottom)))
    for number, row in enumerate(rows):
        y = float(_TOP + _ROW * number)
        parts.append(words(_SIDE, y + 10, one_line(row.name, _LONGEST), "named"))
        parts += _marked(row, [across.at(n) for n in _numbers(row)], y + 23)
    parts += along(across, bottom, of)
    return svg((WIDE, bottom + (40 if of else 24)), title, told, parts)


def _numbers(row: Whisker) -> tuple[float, ...]:
    return () if row.value is None else extent(row.value, row.interval)


def _marked(row: Whisker, places: Sequence[float], y: float) -> list[Markup]:
    if not places:
        return [words(_SIDE, y + 4, "says nothing, as all verdicts are the same", "word")]
    parts = []
    if len(places) == 3:
        _, low, high = places
        parts.append(path("whisker", (low, y), (high, y)))
        parts += [path("whisker", (end, y - 4), (end, y + 4)) for end in (low, high)]
    x = places[0]
    if row.is_second:
        parts.append(shape("rect", "hollow", x=x - 4, y=y - 4, width=8.0, height=8.0))
    else:
        parts.append(shape("circle", "dot", cx=x, cy=y, r=4.0))
    return parts
