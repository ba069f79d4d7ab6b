"""What the targets of a run cost beside how good they are; what is not known is said and not drawn."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from evalmark.core.money import money
from evalmark.core.text import one_line
from evalmark.core.values.words import count
from evalmark.reports.text.numbers import GAP
from evalmark.stats.inference.intervals import Interval
from evalmark.stats.summary.pareto import TargetCost, pareto_optimal
from evalmark.stats.summary.summary import Summary

from .axes import Unit
from .scatter import Point, scatter_drawn
from .svg import Drawn
from .trend_points import BY_RATE


class Quality(NamedTuple):
    """What targets are compared by: a figure and its interval for each that has one."""

    figures: Mapping[str, tuple[float, Interval]]
    unit: Unit
    lower: bool


def qualities(summary: Summary) -> Mapping[str, Quality]:
    """By what the targets of a run can be compared: the pass rate first, then the mean of each metric from 0 to 1.

    Of several datasets each has its own means.
    """
    rates = {
        target: (tally.pass_rate.value, tally.pass_rate.interval)
        for target, tally in summary.by_target.items()
        if tally.pass_rate.value is not None
    }
    found = {BY_RATE: Quality(rates, "share", lower=False)}
    several = len({(group.dataset, group.mode) for group in summary.counted}) > 1
    for group in summary.counted:
        where = f" in {group.dataset}{', turn by turn' if group.mode == 'conversation' else ''}" if several else ""
        for metric in group.metrics:
            if metric.scale == "value" and metric.mean is not None:
                name = one_line(metric.name + where, 80)
                unit: Unit = "share" if metric.truths else ""
                known = found.setdefault(name, Quality({}, unit, lower=metric.direction == "lower"))
                found[name] = known._replace(figures={**known.figures, group.target: (metric.mean, metric.interval)})
    return {name: quality for name, quality in found.items() if quality.figures}


def cost_drawn(summary: Summary, worths: Sequence[TargetCost], name: str, quality: Quality) -> Drawn | None:
    """The targets whose cost and quality are both known; None where there is none, or they were asked other cases."""
    if not are_comparable(summary):
        return None
    known = [(worth, *quality.figures[worth.target]) for worth in worths if worth.target in quality.figures]
    drawn = [(worth, cost, value, interval) for worth, value, interval in known if (cost := worth.cost) is not None]
    best = pareto_optimal([(cost, value) for _, cost, value, _ in drawn], lower=quality.lower)
    points = [
        Point(name=_name(worth), cost=cost, quality=value, interval=interval, is_best=is_best)
        for (worth, cost, value, interval), is_best in zip(drawn, best, strict=True)
    ]
    return scatter_drawn(points, name, unit=quality.unit, lower=quality.lower)


def are_comparable(summary: Summary) -> bool:
    """Whether all targets were asked the same datasets."""
    asked: dict[str, set[str]] = {}
    for group in summary.counted:
        asked.setdefault(group.target, set()).add(group.dataset)
    return len({frozenset(datasets) for datasets in asked.values()}) <= 1


def cost_table(worths: Sequence[TargetCost]) -> Drawn:
    """What the answers of each target cost, as far as it is known."""
    return Drawn(
        picture=Markup(),
        heads=("target", "models", "answers", "price known", "cost of an answer", "of those known"),
        rows=tuple(
            (
                _name(worth),
                one_line(", ".join(worth.models), 80) or GAP,
                f"{worth.trials:,}",
                f"{worth.priced:,}",
                GAP if worth.cost is None else money(worth.cost),
                GAP if worth.total is None else money(worth.total),
            )
            for worth in worths
        ),
        notes=tuple(_unknown(worths)),
        about="What the answers of each target cost",
    )


def _unknown(worths: Sequence[TargetCost]) -> Iterator[str]:
    for worth in worths:
        name = _name(worth)
        if worth.uncalled == worth.trials:
            yield f"{name}: no call of a model is known that its answers were made with, so neither is what they cost."
        elif worth.uncalled:
            yield f"{name}: {count(worth.uncalled, 'answer')} without a call of a model, of unknown cost."
        if worth.unpriced:
            yield f"{name}: price unknown for {count(worth.unpriced, 'answer')}, left out of the mean."


def _name(worth: TargetCost) -> str:
    return one_line(worth.target, 80) or "answers"
