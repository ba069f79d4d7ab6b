"""Chart of each case's score before and now, by one metric; a table of four counts where scores are yes or no."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evalmark.core.text import count
from evalmark.reports.text.change_words import CASE_WORDS
from evalmark.reports.text.comparison import metric_name, metric_value
from evalmark.stats.comparison.change import MetricChange
from evalmark.stats.comparison.compared_cases import CaseOutcome, ComparedCases

from .escaping import visible
from .svg import LEFT, TOP, Axis, Unit, axis, path, sentences, shape, svg, x_axis, y_axis

MOST_POINTS = 200
"""Most points that are drawn one by one; more are counted in squares."""
_SQUARES = 16
"""Squares along each side."""
_SIDE, _WIDE, _HIGH = 280.0, 346, 356

Place = tuple[float, float]
"""A score before and now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePlaces:
    """How many cases have which scores before and now."""

    change: MetricChange
    places: Mapping[Place, int]
    """The number of cases at each place; at most `MOST_POINTS`, else empty."""
    single: Mapping[Place, int]
    """The case at each place that has only one, by its position in the comparison."""
    squares: Mapping[tuple[int, int], int]
    """The number of cases in each square, by column and row from the lower left; empty if there are `places`."""
    ends: tuple[float, float]
    """The smallest and the largest score."""

    @property
    def is_truth(self) -> bool:
        """Whether all scores are yes or no."""
        return self.change.is_share and bool(self.places) and all({*place} <= {0.0, 1.0} for place in self.places)


def case_places(cases: ComparedCases, metric: str) -> CasePlaces | None:
    """Count the cases of a target by their scores before and now; None without a case that both runs scored.

    Args:
        cases: The compared cases.
        metric: The name of the metric; empty for pass or fail.
    """
    names = [change.name for change in cases.change.changes]
    if metric not in names:
        return None
    number = names.index(metric)
    values = cases.values[number]
    known = [found for found in values if found is not None]
    if not known:
        return None
    sides = [[before for before, _ in known], [now for _, now in known]]
    low, high = min(map(min, sides)), max(map(max, sides))
    is_many = len(set(known)) > MOST_POINTS
    places = Counter() if is_many else Counter(known)
    single = {} if is_many else {one: at for at, one in enumerate(values) if one is not None and places[one] == 1}
    return CasePlaces(
        change=cases.change.changes[number],
        places=places,
        single=single,
        squares=_counted(sides, axis(low, high, (0, 1))) if is_many else {},
        ends=(low, high),
    )


def _counted(sides: Sequence[Sequence[float]], drawn: Axis) -> Mapping[tuple[int, int], int]:
    """Count the cases in each square of the axes."""
    step, last = (drawn.high - drawn.low) / _SQUARES, _SQUARES - 1
    columns, rows = ([min(last, int((value - drawn.low) / step)) for value in side] for side in sides)
    return Counter(zip(columns, rows, strict=True))


def draw_case_places(
    found: CasePlaces,
    case: Callable[[int], tuple[str, str]],
    some: Callable[[CaseOutcome | None], str],
    threshold: float | None = None,
) -> Markup:
    """Draw each case by its score before and now, with the line of no change.

    Args:
        found: The counted cases.
        case: Returns the name and the address of the page of a case, by its position.
        some: Returns the address of the list of the cases that changed in a way; None for all.
        threshold: The score that each case needs, if any; drawn on both sides.
    """
    unit: Unit = "share" if found.change.is_share else ""
    bottom = TOP + _SIDE
    across = axis(*found.ends, (LEFT, LEFT + _SIDE), unit=unit, most=5)
    up = axis(*found.ends, (bottom, TOP), unit=unit, most=5)
    parts = y_axis(up, LEFT, LEFT + _SIDE, "now") + x_axis(across, bottom, "before")
    parts.append(path("chance", (LEFT, bottom), (LEFT + _SIDE, TOP)))
    if threshold is not None and across.low < threshold < across.high:
        parts.append(path("cut", (across.at(threshold), bottom), (across.at(threshold), TOP)))
        parts.append(path("cut", (LEFT, up.at(threshold)), (LEFT + _SIDE, up.at(threshold))))
    parts += _points(found, across, up, case, some) if found.places else _squares(found, bottom, some)
    (worse, better), name = found.change.moved, metric_name(found.change)
    title = f"{name} of each case before and now"
    counts = f"{better:,} {CASE_WORDS['better']}, {worse:,} {CASE_WORDS['worse']}, {found.change.stayed:,} unchanged"
    drawn = svg((_WIDE, _HIGH), title, sentences(counts, "the dashed diagonal is no change"), parts)
    # A picture would hide its links from screen readers.
    return Markup(str(drawn).replace('role="img"', 'role="group"', 1))  # noqa: S704  made above


def _points(
    found: CasePlaces,
    across: Axis,
    up: Axis,
    case: Callable[[int], tuple[str, str]],
    some: Callable[[CaseOutcome | None], str],
) -> list[Markup]:
    parts = []
    for place, n in sorted(found.places.items(), key=lambda one: -one[1]):
        before, now = (metric_value(found.change, value) for value in place)
        name, href = case(found.single[place]) if n == 1 else (count(n, "case"), some(_way(found.change, *place)))
        dot = shape("circle", "dot", cx=across.at(place[0]), cy=up.at(place[1]), r=min(12.0, 3.0 * n**0.5))
        parts.append(_link(href, f"{name}: {before} before, {now} now", dot))
    return parts


def _squares(found: CasePlaces, bottom: float, some: Callable[[CaseOutcome | None], str]) -> list[Markup]:
    size, most = _SIDE / _SQUARES, max(found.squares.values())
    parts = []
    for (column, row), n in found.squares.items():
        places: dict[str, float | str] = {"x": LEFT + column * size, "y": bottom - (row + 1) * size}
        places |= {"width": size, "height": size, "fill-opacity": f"{0.15 + 0.85 * (n / most) ** 0.5:.2f}"}
        square = shape("rect", "bar", "", **places)
        parts.append(_link(some(_way(found.change, column, row)), count(n, "case"), square))
    return parts


def _way(change: MetricChange, before: float, now: float) -> CaseOutcome | None:
    if now == before:
        return None
    return "better" if (now > before) == (change.direction == "higher") else "worse"


def _link(href: str, name: str, mark: Markup) -> Markup:
    """Make a mark a link for pointers; the list of cases is there for the keyboard."""
    inside = Markup('<a href="{0}" tabindex="-1" aria-label="{1}"><title>{1}</title>{2}</a>')
    return inside.format(href, visible(name), mark)
