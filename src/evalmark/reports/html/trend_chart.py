"""Chart of a metric over runs: one line per suite or dataset, with intervals."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from markupsafe import Markup

from evalmark.core.text import count, one_line
from evalmark.reports.text import numbers, titles
from evalmark.reports.text.trend import limits_text
from evalmark.stats.comparison.metric_series import MetricSeries, SeriesRun, series_value
from evalmark.stats.inference.intervals import Interval, Share
from evalmark.stats.summary.gate import GateVerdict
from evalmark.stats.summary.summary import Summary

from .svg import (
    Axis,
    Unit,
    axis,
    extent,
    fitting_labels,
    path,
    question_mark,
    sentences,
    shape,
    space_evenly,
    svg,
    text_element,
    text_width,
    value_text,
    y_axis,
)

Outcome = Literal["pass", "fail", "cannot tell", ""]
"""Outcome of a gate; empty if nothing was gated or it is not known yet."""

WIDE, HIGH = 900, 300
_FEW, _FEW_WIDE = 5, 420
"""Most runs of a chart that fits on a phone, and its width."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 14, 28, 34
_NAMES, _STEP = 170, 15
"""Width of the line names at the right, and their distance."""
DASHES = 6
"""Number of distinguishable line styles."""
SIGNS = {"pass": "\u2713", "fail": "\u2717", "cannot tell": "?", "": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """A run on a trend line."""

    place: int
    """Position among all runs of the chart, from 0."""
    value: float
    interval: Interval | None
    outcome: Outcome
    tooltip: str
    text: str = ""
    """Formatted value."""
    interval_text: str = ""
    limits: tuple[float | None, float | None] = (None, None)
    """Control limits of this run."""
    change: str = ""
    """`worse` or `better` if the value is outside of its control limits."""
    is_under: bool = False
    """Whether it is below them."""
    starts: bool = False
    """Whether a new series of control limits starts with this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendLine:
    """A trend line and its points."""

    name: str
    points: Sequence[TrendPoint]


def draw_trend(lines: Sequence[TrendLine], days: Sequence[str], metric: str, *, unit: Unit = "") -> Markup:
    """Draw runs from left to right, oldest first, labelled by `days`; empty without points.

    `metric` names the metric. Marks show the gate: cross failed, dot passed, question mark undecided, ring none.
    """
    points = [point for line in lines for point in line.points]
    if not points:
        return Markup()
    names = len(lines) > 1
    few = len(days) <= _FEW
    wide = _FEW_WIDE if few else WIDE
    across = Axis(
        low=-0.5,
        high=max(0.5, len(days) - 0.5),
        ticks=(0.0, 1.0),
        start=_LEFT,
        end=wide - (_RIGHT + _NAMES if names else _LEFT),
    )
    up = _value_axis(points, unit)
    parts = [
        *y_axis(up, _LEFT, across.end, metric),
        *([] if few else _scale_at_end(across, up, inside=names)),
        *_days(days, across, wide),
    ]
    for number, line in enumerate(lines):
        parts += _drawn(line, number, across, up, wide)
    if names:
        parts += _names(lines, across, up)
    title = f"{metric[:1].upper()}{metric[1:]} over runs"
    return svg((wide, HIGH), title, _description(lines, unit), parts, "few" if few else "wide")


def _value_axis(points: Sequence[TrendPoint], unit: Unit) -> Axis:
    values = [n for point in points for n in extent(point.value, point.interval)]
    values += [end for point in points for end in point.limits if end is not None]
    return axis(min(values), max(values), (HIGH - _BOTTOM, _TOP), unit=unit)


def _description(lines: Sequence[TrendLine], unit: Unit) -> str:
    def of(line: TrendLine) -> str:
        first, last = line.points[0], line.points[-1]
        failed = sum(point.outcome == "fail" for point in line.points)
        gates = f", {count(failed, 'failed gate')}" if failed else ""
        outside = sum(bool(point.change) for point in line.points)
        limits = f", {count(outside, 'run')} outside of the control limits" if outside else ""
        ends = f"from {value_text(first.value, unit)} to {value_text(last.value, unit)}"
        return f"{line.name}: {count(len(line.points), 'run')}, {ends}{gates}{limits}"

    return sentences(*(of(line) for line in lines if line.points))


def _days(days: Sequence[str], across: Axis, wide: float) -> list[Markup]:
    """Draw the axis of runs; each day is labelled once if there is room."""
    first = [number for number, day in enumerate(days) if day and (number == 0 or days[number - 1] != day)]
    places = [across.at(number) for number in first]
    y = HIGH - _BOTTOM
    parts = [path("axis", (across.start, y), (across.end, y))]
    for k in fitting_labels(places, [days[number] for number in first]):
        label = days[first[k]]
        half = text_width(label) / 2
        parts.append(path("axis", (places[k], y), (places[k], y + 4)))
        parts.append(text_element(min(wide - half, max(half, places[k])), y + 17, label, anchor="middle"))
    return parts


def _scale_at_end(across: Axis, up: Axis, *, inside: bool) -> list[Markup]:
    """Draw the scale again at the newest run, inside where names of lines are outside; the style sheet shows it where the chart scrolls."""
    x, below, anchor = (across.end - 2, -4, "end") if inside else (across.end + 6, 4, "start")
    labelled = zip(up.ticks, up.words, strict=True)
    return [text_element(x, up.at(tick) + below, text, "at-end", anchor) for tick, text in labelled]


def _drawn(line: TrendLine, number: int, across: Axis, up: Axis, wide: float) -> list[Markup]:
    kind = f"line-{number % DASHES}"
    at = [(across.at(point.place), up.at(point.value)) for point in line.points]
    parts = list(_limits(line, across, up))
    parts += [path(f"line {kind}", *at)] if len(at) > 1 else []
    for point, (x, _) in zip(line.points, at, strict=True):
        ends = [up.at(end) for end in extent(point.value, point.interval)[1:]]
        parts += [path(f"whisker {kind}", (x, ends[0]), (x, ends[1]))] if len(ends) == 2 else []
    for point, (x, y) in zip(line.points, at, strict=True):
        parts.append(_mark(point, kind, x, y))
        parts += _outside(point, x, y, wide)
    return parts


def _limits(line: TrendLine, across: Axis, up: Axis) -> Iterator[Markup]:
    """Draw the control limits as steps, and a vertical line where a new series starts."""
    for number, point in enumerate(line.points):
        if point.starts and number:
            x = across.at(point.place - 0.5)
            yield path("grid", (x, up.start), (x, up.end))
    for side in (0, 1):
        steps: list[tuple[float, float]] = []
        for point in line.points:
            end = point.limits[side]
            if steps and (end is None or point.starts):
                yield path("cut", *steps)
                steps = []
            if end is not None:
                steps += [(across.at(point.place + way), up.at(end)) for way in (-0.5, 0.5)]
        if steps:
            yield path("cut", *steps)


def _outside(point: TrendPoint, x: float, y: float, wide: float) -> Iterator[Markup]:
    """Mark a value that is outside of its control limits."""
    if not point.change:
        return
    yield shape("circle", "ring", "", cx=x, cy=y, r=9.0)
    half = text_width(point.change) / 2
    is_under = point.is_under and y < HIGH - _BOTTOM - 28
    at = min(wide - half, max(half, x))
    yield text_element(at, y + (24 if is_under else -14), point.change, "over", "middle")


def _mark(point: TrendPoint, kind: str, x: float, y: float) -> Markup:
    if point.outcome == "fail":
        cross = f"M{x - 5:.1f} {y - 5:.1f}L{x + 5:.1f} {y + 5:.1f}M{x - 5:.1f} {y + 5:.1f}L{x + 5:.1f} {y - 5:.1f}"
        return shape("path", "cross", point.tooltip, d=cross)
    if point.outcome == "cannot tell":
        return question_mark(x, y, kind, point.tooltip)
    return shape("circle", f"{'stop' if point.outcome else 'open'} {kind}", point.tooltip, cx=x, cy=y, r=4.0)


def _names(lines: Sequence[TrendLine], across: Axis, up: Axis) -> list[Markup]:
    """Draw the name of each line at the right, near its last point."""
    last = [(up.at(line.points[-1].value), number) for number, line in enumerate(lines) if line.points]
    ordered = sorted(last)
    places = space_evenly([y for y, _ in ordered], _STEP, HIGH - _BOTTOM)
    parts: list[Markup] = []
    for y, (_, number) in zip(places, ordered, strict=True):
        kind, x = f"line-{number % DASHES}", across.end + 10
        parts.append(path(f"line {kind}", (x, y), (x + 24, y)))
        parts.append(text_element(x + 30, y + 4, one_line(lines[number].name, 18), f"named {kind}"))
    return parts


BY_RATE = "pass rate"
BY_TAG = "pass rate by tag"
TAGS = 8
"""Tags, those of the most runs and judged trials, whose pass rate is shown."""
WHOLE = "all"
"""Name of the line of whole runs."""


class MeasuredValue(NamedTuple):
    """A value of a run or of a part of it, with interval."""

    value: float
    interval: Interval
    n: int
    unit: Unit
    kind: str
    """Values of different kinds have different scales."""

    @property
    def text(self) -> str:
        """The value as text."""
        return numbers.rate(self.value) if self.unit == "share" else numbers.number_text(self.value, self.kind)

    @property
    def interval_text(self) -> str:
        """The interval as text."""
        interval = self.interval
        return numbers.share_interval(interval) if self.unit == "share" else numbers.interval_text(interval, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetrics:
    """Values of a run by part and name; the part is empty for the whole run."""

    outcome: Outcome
    figures: Mapping[tuple[str, str], MeasuredValue]
    median_seconds: float | None = None
    """The median time of the target; None if it is unknown."""
    p95_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendRun:
    """A run in a trend; without metrics if they are not known."""

    place: int
    description: str
    series: str
    """Runs of one series share a line."""
    passed: Share
    metrics: RunMetrics | None = None

    def value_of(self, part: str, name: str) -> MeasuredValue | None:
        """Return a value by part and name."""
        if self.metrics is not None:
            return self.metrics.figures.get((part, name))
        return _rate(self.passed) if (part, name) == ("", BY_RATE) else None


def run_metrics(summary: Summary, verdict: GateVerdict) -> RunMetrics:
    """Extract the values of a run that a trend needs."""
    figures: dict[tuple[str, str], MeasuredValue | None] = {("", BY_RATE): _rate(summary.total.pass_rate)}
    several = len(summary.counted) > 1
    for group in summary.counted:
        part = titles.group_place(group, summary)
        if several:
            figures[part, BY_RATE] = _rate(group.tally.pass_rate)
        for metric in group.metrics:
            if metric.mean is not None:
                unit: Unit = "share" if metric.truths else ""
                figures[part if several else "", metric.name] = MeasuredValue(
                    metric.mean, metric.interval, metric.n, unit, metric.unit
                )
    tagged = sorted(summary.by_tag.items(), key=lambda found: -found[1].pass_rate.n)[:TAGS]
    figures |= {(tag, BY_TAG): _rate(counts.pass_rate) for tag, counts in tagged}
    return RunMetrics(
        outcome=verdict.outcome if verdict.gated else "",
        figures={key: value for key, value in figures.items() if value is not None},
        median_seconds=summary.total.seconds_median,
        p95_seconds=summary.total.seconds_p95,
    )


def _rate(share: Share) -> MeasuredValue | None:
    return None if share.value is None else MeasuredValue(share.value, share.interval, share.n, "share", "")


def parts_of(trend_runs: Sequence[TrendRun], name: str) -> list[str]:
    """List the parts with a value of this name: the whole run first, then the most frequent."""
    counts = Counter(part for trend_run in reversed(trend_runs) for part in _parts(trend_run, name))
    return sorted(counts, key=lambda part: (part != "", -counts[part]))[: TAGS if name == BY_TAG else DASHES]


def _parts(trend_run: TrendRun, name: str) -> Iterator[str]:
    if trend_run.metrics is None:
        yield from [""] if name == BY_RATE else []
    else:
        yield from (part for part, figure in trend_run.metrics.figures if figure == name)


def trend_lines(trend_runs: Sequence[TrendRun], name: str, label: str = WHOLE) -> tuple[list[TrendLine], Unit]:
    """Build a line for each part, and their unit; values in other units than the newest run's are left out.

    `label` names the line of whole runs.
    """
    parts = parts_of(trend_runs, name)
    kinds = [(m.unit, m.kind) for p in reversed(trend_runs) for part in parts if (m := p.value_of(part, name))]
    lines = []
    for part in parts:
        points = [
            TrendPoint(
                place=trend_run.place,
                value=measured.value,
                interval=measured.interval,
                outcome=trend_run.metrics.outcome if trend_run.metrics else "",
                tooltip=f"{trend_run.description}: {measured.text}",
                text=measured.text,
                interval_text=measured.interval_text,
            )
            for trend_run in trend_runs
            if (measured := trend_run.value_of(part, name)) is not None and (measured.unit, measured.kind) == kinds[0]
        ]
        lines.append(TrendLine(name=part or label, points=points))
    return lines, kinds[0][0] if kinds else ""


def pass_rate_lines(trend_runs: Sequence[TrendRun], titles: Mapping[str, str]) -> list[TrendLine]:
    """Build a pass-rate line for each series, newest first; `titles` say what the series are called."""
    lines = []
    for series in dict.fromkeys(trend_run.series for trend_run in reversed(trend_runs)):
        own = [trend_run for trend_run in trend_runs if trend_run.series == series]
        lines += [line for line in trend_lines(own, BY_RATE, label=titles.get(series, series))[0][:1] if line.points]
    return lines[:DASHES]


def points_of(trend_run: TrendRun, lines: Sequence[TrendLine]) -> list[TrendPoint | None]:
    """Return a run's point on each line."""
    return [next((point for point in line.points if point.place == trend_run.place), None) for line in lines]


def with_limits(line: TrendLine, series: MetricSeries, runs: Sequence[str]) -> TrendLine:
    """Return a line with the control limits of its points; `runs` has the id of the run at each position."""
    limited = {one.run.id: one for one in series.runs}
    points = [
        point if (one := limited.get(runs[point.place])) is None else _limited(point, series, one)
        for point in line.points
    ]
    return replace(line, points=points)


def limit_line(series: MetricSeries, trend_runs: Sequence[TrendRun], runs: Sequence[str]) -> TrendLine:
    """Return the line of a series of one target, with its control limits and without intervals."""
    limited = {one.run.id: one for one in series.runs}
    points = [
        TrendPoint(
            place=trend_run.place,
            value=one.point.value,
            interval=None,
            outcome=trend_run.metrics.outcome if trend_run.metrics else "",
            tooltip=f"{trend_run.description}: {series_value(series, one.point.value)}",
        )
        for trend_run in trend_runs
        if (one := limited.get(runs[trend_run.place])) is not None
    ]
    return with_limits(TrendLine(name=series.target or WHOLE, points=points), series, runs)


def _limited(point: TrendPoint, series: MetricSeries, one: SeriesRun) -> TrendPoint:
    change = series.change(one.point)
    limits = f"control limits {limits_text(series, one)}"
    return replace(
        point,
        limits=(one.point.low, one.point.high),
        change=change,
        is_under=one.point.outside == "below",
        starts=bool(one.start_reason),
        tooltip=", ".join([point.tooltip, limits, *([change] if change else [])]),
    )
