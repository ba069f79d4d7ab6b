"""A picture as SVG, with the words that say what it shows and the table of its numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .axes import Axis
from .escaping import visible
from .placing import Box, thinned

WIDE, HIGH = 360, 226
LEFT, RIGHT, TOP, BOTTOM = 44, 22, 30, 40
"""Room for the words around a picture."""
_ABOVE = 17
"""From the topmost tick up to the line on which the title of an axis stands: the number beside the tick is between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A picture, and the numbers it was made of."""

    picture: Markup
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The first cell of each names the row."""
    notes: tuple[str, ...] = ()
    """What is not on the picture, or not known, one sentence each."""
    about: str = ""
    """What the table is of, where a page has several."""


def svg(size: tuple[float, float], title: str, told: str, parts: Iterable[Markup], kind: str = "") -> Markup:
    """A picture of this size in units of its own; `told` says in words what it shows."""
    return Markup(
        '<svg class="picture{}" viewBox="0 0 {:.0f} {:.0f}" role="img"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(f" {kind}" if kind else "", *size, visible(title), visible(told), Markup("").join(parts))


def shape(name: str, kind: str, told: str = "", **places: float | str) -> Markup:
    """An element with a class of the style sheet; numbers have one decimal, and `told` is shown where one points at it."""
    values = {key: f"{value:.1f}" if isinstance(value, float) else str(value) for key, value in places.items()}
    attributes = Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in values.items())
    if not told:
        return Markup('<{0} class="{1}"{2}/>').format(Markup(name), kind, attributes)  # noqa: S704  a name of ours
    inside = Markup('<{0} class="{1}"{2}><title>{3}</title></{0}>')
    return inside.format(Markup(name), kind, attributes, visible(told))  # noqa: S704  a name of ours


def path(kind: str, *points: tuple[float, float], told: str = "") -> Markup:
    """A line through points."""
    return shape("path", kind, told, d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points))


def words(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> Markup:
    """A text whose base line begins, has its middle or ends there."""
    inside = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return inside.format(kind or "word", x, y, anchor, visible(text))


def name_in(box: Box, text: str, kind: str = "named") -> Markup:
    """A text in its place."""
    return words(box.left, box.bottom - 2, text, kind)


def along(axis: Axis, y: float, title: str = "") -> list[Markup]:
    """An axis from left to right, with as many ticks as have room for their words, and what it is of below them."""
    places = [axis.at(tick) for tick in axis.ticks]
    kept = thinned(places, axis.words)
    parts = [path("axis", (axis.start, y), (axis.end, y))]
    parts += [path("axis", (places[k], y), (places[k], y + 4)) for k in kept]
    parts += [words(places[k], y + 15, axis.words[k], anchor="middle") for k in kept]
    return parts + ([words((axis.start + axis.end) / 2, y + 31, title, anchor="middle")] if title else [])


def upright(axis: Axis, left: float, right: float, title: str = "") -> list[Markup]:
    """An axis from the bottom to the top with a thin line at each tick, and what it is of above it."""
    parts: list[Markup] = []
    for tick, text in zip(axis.ticks, axis.words, strict=True):
        parts.append(path("grid", (left, axis.at(tick)), (right, axis.at(tick))))
        parts.append(words(left - 5, axis.at(tick) + 4, text, anchor="end"))
    return parts + ([words(2, min(axis.start, axis.end) - _ABOVE, title)] if title else [])


def sentence(*parts: str) -> str:
    """Parts that say something, as sentences.

    >>> sentence("27 scores", "", "none below 0.5")
    '27 scores. None below 0.5.'
    """
    return " ".join(f"{part[0].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def every(rows: Sequence[tuple[str, ...]], most: int) -> tuple[tuple[str, ...], ...]:
    """At most so many rows, evenly chosen, the first and the last among them.

    >>> every([("a",), ("b",), ("c",), ("d",), ("e",)], 3)
    (('a',), ('c',), ('e',))
    """
    if len(rows) <= most:
        return tuple(rows)
    return tuple(rows[round(k * (len(rows) - 1) / (most - 1))] for k in range(most))
