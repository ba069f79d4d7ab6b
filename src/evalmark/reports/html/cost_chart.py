"""Chart of the cost of targets against their quality, with the Pareto front."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from evalmark.core.money import money
from evalmark.core.text import count, one_line
from evalmark.reports.text.numbers import DASH, GAP
from evalmark.stats.inference.intervals import Interval
from evalmark.stats.summary.pareto import TargetCost, pareto_optimal
from evalmark.stats.summary.summary import Summary

from .svg import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Axis,
    Box,
    Figure,
    PointLabel,
    Unit,
    axis,
    box_around,
    extent,
    label_element,
    path,
    place_labels,
    sentences,
    shape,
    svg,
    value_text,
    x_axis,
    y_axis,
)
from .trend_chart import BY_RATE

WIDE, HIGH = 480, 320
_MARK = 5.0
_LONGEST, _SHORT = 26, 12
"""Longest name on the chart in characters, and the longest where room is short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPoint:
    """A target in the cost chart."""

    name: str
    cost: float
    """US dollars per output."""
    quality: float
    interval: Interval | None
    is_best: bool
    """Whether no other target dominates it."""


def draw_scatter(points: Sequence[CostPoint], quality: str, *, unit: Unit = "", lower: bool = False) -> Figure | None:
    """Draw cost against quality with intervals; the Pareto front is filled and joined.

    `quality` names the metric; with `lower`, less is better. None without points.
    """
    if not points:
        return None
    across = axis(0, max(p.cost for p in points), (LEFT, WIDE - RIGHT - 20), unit="dollars", most=5)
    qualities_shown = [n for p in points for n in extent(p.quality, p.interval)]
    up = axis(min(qualities_shown), max(qualities_shown), (HIGH - BOTTOM, TOP), unit=unit)
    parts = y_axis(up, LEFT, WIDE - RIGHT, quality + (" (lower is better)" if lower else ""))
    parts += x_axis(across, HIGH - BOTTOM, "US dollars per output")
    best = sorted((p for p in points if p.is_best), key=lambda p: (p.cost, p.quality))
    if len(best) > 1:
        parts.append(path("front", *((across.at(p.cost), up.at(p.quality)) for p in best)))
    for point in points:
        parts += _marks(point, across, up)
    occupied = [box for point in points for box in _occupied_boxes(point, across, up)]
    labels = _name_labels(points, across, up, occupied)
    parts += labels
    hidden = len(points) - len(labels)
    title = f"Cost against {quality}"
    description = sentences(
        *(f"{p.name}: {money(p.cost)} per output, {value_text(p.quality, unit)}" for p in points[:12]),
        f"not dominated: {', '.join(p.name for p in best)}",
    )
    return Figure(
        picture=svg((WIDE, HIGH), title, description, parts, "large"),
        heads=("target", "cost per output", quality, "95 % interval", "dominated"),
        rows=tuple(_row(p, unit) for p in points),
        notes=(f"{count(hidden, 'target')} without a name, because it does not fit.",) if hidden else (),
        about=title,
    )


def _name_labels(points: Sequence[CostPoint], across: Axis, up: Axis, occupied: Sequence[Box]) -> list[Markup]:
    """Draw the names that have room, shortened if needed."""
    boxes, parts = list(occupied), []
    for point in points:
        for longest in (_LONGEST, _SHORT):
            name = PointLabel(across.at(point.cost), up.at(point.quality), _with_both_ends(point.name, longest))
            box = place_labels([name], boxes, Box(LEFT, TOP - 6, WIDE, HIGH - BOTTOM))[0]
            if box is not None:
                boxes.append(box)
                parts.append(label_element(box, name.text))
                break
    return parts


def _with_both_ends(name: str, longest: int) -> str:
    """Shorten a name in its middle: targets often differ at the start, by the prompt, or at the end, by the model.

    >>> _with_both_ends("terse.prompty on brook-large", 12)
    'terse…-large'
    """
    name, half = one_line(name, 200), longest // 2
    return name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"


def _occupied_boxes(point: CostPoint, across: Axis, up: Axis) -> list[Box]:
    x, heights = across.at(point.cost), [up.at(end) for end in extent(point.quality, point.interval)]
    return [box_around(x, heights[0], _MARK), Box(x - 1.5, min(heights), x + 1.5, max(heights))]


def _marks(point: CostPoint, across: Axis, up: Axis) -> list[Markup]:
    x, y = across.at(point.cost), up.at(point.quality)
    ends = extent(point.quality, point.interval)[1:]
    parts = [path("whisker", (x, up.at(ends[0])), (x, up.at(ends[1])))] if len(ends) == 2 else []
    if point.is_best:
        return [*parts, shape("circle", "dot", point.name, cx=x, cy=y, r=_MARK)]
    return [*parts, shape("rect", "hollow", point.name, x=x - 4, y=y - 4, width=8.0, height=8.0)]


def _row(point: CostPoint, unit: Unit) -> tuple[str, ...]:
    mark = "\u25cf" if point.is_best else "\u25a1"
    ends = [value_text(end, unit) for end in extent(point.quality, point.interval)[1:]]
    return (
        f"{mark} {point.name}",
        money(point.cost),
        value_text(point.quality, unit),
        f" {DASH} ".join(ends) if len(ends) == 2 else GAP,
        "no" if point.is_best else "yes",
    )


class Quality(NamedTuple):
    """A quality measure: value and interval for each target that has one."""

    figures: Mapping[str, tuple[float, Interval]]
    unit: Unit
    lower: bool


def qualities(summary: Summary) -> Mapping[str, Quality]:
    """Map names to quality measures: the pass rate first, then metric means.

    Each dataset has its own means.
    """
    rates = {
        target: (tally.pass_rate.value, tally.pass_rate.interval)
        for target, tally in summary.by_target.items()
        if tally.pass_rate.value is not None
    }
    measures = {BY_RATE: Quality(rates, "share", lower=False)}
    several = len({(group.dataset, group.mode) for group in summary.counted}) > 1
    for group in summary.counted:
        dataset = f" in {group.dataset}{', turn by turn' if group.mode == 'conversation' else ''}" if several else ""
        for metric in group.metrics:
            if metric.scale == "value" and metric.mean is not None:
                name = one_line(metric.name + dataset, 80)
                unit: Unit = "share" if metric.truths else ""
                measure = measures.setdefault(name, Quality({}, unit, lower=metric.direction == "lower"))
                measures[name] = measure._replace(
                    figures={**measure.figures, group.target: (metric.mean, metric.interval)}
                )
    return {name: quality for name, quality in measures.items() if quality.figures}


def draw_costs(summary: Summary, costs: Sequence[TargetCost], name: str, quality: Quality) -> Figure | None:
    """Draw the targets with known cost and quality; None if there are none, or if datasets differ."""
    if not are_comparable(summary):
        return None
    known = [(target, *quality.figures[target.target]) for target in costs if target.target in quality.figures]
    drawn = [(target, cost, value, interval) for target, value, interval in known if (cost := target.cost) is not None]
    best = pareto_optimal([(cost, value) for _, cost, value, _ in drawn], lower=quality.lower)
    points = [
        CostPoint(name=_name(target), cost=cost, quality=value, interval=interval, is_best=is_best)
        for (target, cost, value, interval), is_best in zip(drawn, best, strict=True)
    ]
    return draw_scatter(points, name, unit=quality.unit, lower=quality.lower)


def are_comparable(summary: Summary) -> bool:
    """Return whether all targets ran on the same datasets."""
    datasets_of: dict[str, set[str]] = {}
    for group in summary.counted:
        datasets_of.setdefault(group.target, set()).add(group.dataset)
    return len({frozenset(datasets) for datasets in datasets_of.values()}) <= 1


def cost_table(costs: Sequence[TargetCost]) -> Figure:
    """Tabulate the cost of each target's outputs."""
    return Figure(
        picture=Markup(),
        heads=("target", "models", "outputs", "price known", "cost per output", "known total"),
        rows=tuple(
            (
                _name(target),
                one_line(", ".join(target.models), 80) or GAP,
                f"{target.trials:,}",
                f"{target.priced:,}",
                GAP if target.cost is None else money(target.cost),
                GAP if target.total is None else money(target.total),
            )
            for target in costs
        ),
        notes=tuple(_unknown(costs)),
        about="Cost of each target",
    )


def _unknown(costs: Sequence[TargetCost]) -> Iterator[str]:
    for target in costs:
        name = _name(target)
        if target.uncalled == target.trials:
            yield f"{name}: cost unknown: no model call is recorded for its outputs."
        elif target.uncalled:
            yield f"{name}: cost unknown for {count(target.uncalled, 'output')} without a model call."
        if target.unpriced:
            yield f"{name}: price unknown for {count(target.unpriced, 'output')}, left out of the mean."


def _name(target: TargetCost) -> str:
    return one_line(target.target, 80) or "outputs"
