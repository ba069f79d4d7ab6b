"""Small multiples of a suite: one small chart a measure over the same runs, each with intervals and control limits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evalmark.stats.inference.intervals import Interval

from .escaping import visible
from .svg import Axis, Unit, axis, extent, path, question_mark, shape, text_element
from .trend_chart import DASHES, Outcome

WIDE, HIGH = 320, 132
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 8, 10, 12
_GAP, _LETTER = 6, 7.2
"""Between a number and the chart, and the width of a digit."""
_TICKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelRun:
    """A run of all panels: what a click opens, and how its gate ended."""

    href: str
    description: str
    outcome: Outcome
    is_whole: bool = True
    """Whether it ended with all of its cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPoint:
    """The value of a run in one panel."""

    value: float
    text: str
    """Formatted value."""
    interval: Interval | None = None
    interval_text: str = ""
    limits: tuple[float | None, float | None] = (None, None)
    """Control limits of this run."""
    change: str = ""
    """`worse` or `better` if the value is outside of its control limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPanel:
    """A measure over the runs of a suite."""

    title: str
    note: str = ""
    """What the measure is, if its name does not say it."""
    measure: str = ""
    """The name under which the page of trends shows it in detail; empty for one without such a page."""
    unit: Unit = ""
    lines: Sequence[tuple[str, Mapping[int, PanelPoint]]]
    """Names of the lines, and points by the position of their run."""


def newest_point(panel: TrendPanel, runs: Sequence[PanelRun]) -> PanelPoint | None:
    """Return the first line's point of the newest whole run, or of the newest run if none is whole; None if it is unknown there."""
    newest = max(range(len(runs)), key=lambda place: (runs[place].is_whole, place), default=0)
    return panel.lines[0][1].get(newest) if panel.lines else None


def draw_panel(panel: TrendPanel, runs: Sequence[PanelRun], beside: Sequence[TrendPanel] = ()) -> Markup:
    """Draw a panel, the oldest run at the left; empty without points. It has one scale with the panels `beside` it.

    Columns of runs whose gate failed are tinted. Each column is a link to its run. The links are left out of the order of
    the Tab key, since the table of the page has the same ones.
    """
    if not any(line for _, line in panel.lines):
        return Markup()
    points = [point for one in (panel, *beside) for _, line in one.lines for point in line.values()]
    up = _value_axis(points, panel.unit)
    left = max(_LEFT, _GAP + _LETTER * max(map(len, up.words)))
    across = Axis(low=-0.5, high=len(runs) - 0.5, ticks=(0.0, 1.0), start=left, end=WIDE - _RIGHT)
    parts = [*_grid(up, across), *_failed(runs, across)]
    for number, (_, line) in enumerate(panel.lines):
        parts += _drawn(line, f"line-{number % DASHES}", runs, across, up)
    parts += _links(panel, runs, across)
    name = visible(f"{panel.title} over {len(runs)} runs, the oldest first")
    return Markup('<svg class="picture panel" viewBox="0 0 {} {}" role="group" aria-label="{}">{}</svg>').format(
        WIDE, HIGH, name, Markup("").join(parts)
    )


def _value_axis(points: Sequence[PanelPoint], unit: Unit) -> Axis:
    values = [n for point in points for n in extent(point.value, point.interval)]
    values += [end for point in points for end in point.limits if end is not None]
    return axis(min(values), max(values), (HIGH - _BOTTOM, _TOP), unit=unit, most=_TICKS)


def _grid(up: Axis, across: Axis) -> Iterator[Markup]:
    for tick, text in zip(up.ticks, up.words, strict=True):
        yield path("grid", (across.start, up.at(tick)), (across.end, up.at(tick)))
        yield text_element(across.start - _GAP, up.at(tick) + 4, text, anchor="end")


def _column(kind: str, number: int, across: Axis) -> Markup:
    """Fill the column of a run."""
    left, right = across.at(number - 0.5), across.at(number + 0.5)
    return shape("rect", kind, x=left, y=0.0, width=right - left, height=float(HIGH))


def _failed(runs: Sequence[PanelRun], across: Axis) -> Iterator[Markup]:
    for number, run in enumerate(runs):
        if run.outcome == "fail":
            yield _column("failed-run", number, across)


def _drawn(
    line: Mapping[int, PanelPoint], kind: str, runs: Sequence[PanelRun], across: Axis, up: Axis
) -> Iterator[Markup]:
    limits = [(number, end) for number, point in sorted(line.items()) for end in point.limits if end is not None]
    for number, end in limits:
        yield path("cut", (across.at(number - 0.5), up.at(end)), (across.at(number + 0.5), up.at(end)))
    places = [(across.at(number), up.at(point.value)) for number, point in sorted(line.items())]
    if len(places) > 1:
        yield path(f"line {kind}", *places)
    for (number, point), (x, y) in zip(sorted(line.items()), places, strict=True):
        ends = [up.at(end) for end in extent(point.value, point.interval)[1:]]
        if len(ends) == 2:
            yield path(f"whisker {kind}", (x, ends[0]), (x, ends[1]))
        if runs[number].outcome == "fail":
            d = f"M{x - 3.5:.1f} {y - 3.5:.1f}l7 7M{x - 3.5:.1f} {y + 3.5:.1f}l7 -7"
            yield shape("path", "cross", d=d)
        elif runs[number].outcome == "cannot tell":
            yield question_mark(x, y, kind)
        else:
            yield shape("circle", f"{'stop' if runs[number].outcome == 'pass' else 'open'} {kind}", cx=x, cy=y, r=3.0)
        if point.change:
            yield shape("circle", "ring", cx=x, cy=y, r=7.0)


def _links(panel: TrendPanel, runs: Sequence[PanelRun], across: Axis) -> Iterator[Markup]:
    for number, run in enumerate(runs):
        found = [(name, line[number]) for name, line in panel.lines if number in line]
        if not found:
            continue
        values = "; ".join((f"{name}: " if len(panel.lines) > 1 else "") + _words(point) for name, point in found)
        gate = {"pass": ", gate passed", "fail": ", gate failed", "cannot tell": ", gate cannot tell", "": ""}[
            run.outcome
        ]
        text = visible(f"{run.description}: {values}{gate}")
        inside = _column("hit", number, across)
        yield Markup('<a href="{}" tabindex="-1" aria-label="{}">{}<title>{}</title></a>').format(
            run.href, text, inside, text
        )


def _words(point: PanelPoint) -> str:
    interval = f" ({point.interval_text})" if point.interval_text else ""
    return point.text + interval + (f", outside of its control limits: {point.change}" if point.change else "")
