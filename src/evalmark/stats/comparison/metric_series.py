"""A metric over the runs of a suite, with control limits."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evalmark.core.embedding_modes import model_and_mode
from evalmark.core.text import count, distinct_from, one_line, percent
from evalmark.core.values.run import OUTSIDE_LIMITS, Run
from evalmark.core.values.score import Direction
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.control_chart import FALSE_ALARMS, ChartPoint, ControlChart, Unit
from evalmark.stats.summary.clusters import ClusterFinder

from .change import Key
from .metric_values import VERDICT, TargetValues, target_values
from .scoring_rules import decide_rule

FIRST = "the first run"
"""The start reason of the first run of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesValues:
    """The values of one metric on one target of a run."""

    units: Mapping[Unit, tuple[float, int]]
    """For each cluster of cases the sum and the number of its values."""
    replies: Mapping[Unit, int]
    """For each cluster whose outputs all come from recorded model calls, a hash of these calls."""
    direction: Direction
    bounded: bool
    """Whether values lie between 0 and 1; otherwise they are in the scorer's own unit."""
    is_share: bool
    """Whether all values are 0 or 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunValues:
    """The values of a run that control charts need."""

    run: Run
    """The run without its results."""
    columns: Mapping[tuple[str, str], SeriesValues]
    """By target and metric; the metric is empty for the pass rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRun:
    """A run of a series."""

    run: Run
    n: int
    """The number of values in the mean."""
    point: ChartPoint
    start_reason: str = ""
    """Why a new series starts with this run; empty if it continues one."""
    since: str
    """When the first run of the series was created, ISO 8601."""
    earlier: int
    """The number of runs of the series before this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSeries:
    """One metric on one target over runs, the oldest first."""

    target: str
    metric: str
    """Empty: the pass rate."""
    direction: Direction
    unit: str
    """The unit of values that are not between 0 and 1; empty for others."""
    is_share: bool
    """Whether the mean is a share, shown in percent."""
    runs: tuple[SeriesRun, ...]

    def change(self, point: ChartPoint) -> str:
        """Return `better` or `worse` for a run outside of its limits; empty for one within."""
        if point.outside is None:
            return ""
        return "better" if (point.outside == "above") == (self.direction == "higher") else "worse"


@check_arguments
def run_values(run: Run) -> RunValues:
    """Read the results of a run once and return the values that control charts need.

    Args:
        run: The run; its results may be read from disk.

    Returns:
        The values of each metric on each target, by cluster of cases.
    """
    finder = ClusterFinder(run)
    columns: dict[tuple[str, str], SeriesValues] = {}
    for target, values in target_values(run, finder).items():
        for metric in values.metrics:
            if (column := _column(values, metric)) is not None:
                columns[target, metric] = column
    return RunValues(run=replace(run, results=()), columns=columns)


def _column(values: TargetValues, metric: str) -> SeriesValues | None:
    column = values.metrics[metric]
    numbers = column.raws if column.valueless else column.values
    if not numbers:
        return None
    clusters: defaultdict[int, list[Key]] = defaultdict(list)
    for key in numbers:
        clusters[values.clusters[key]].append(key)
    # A cluster with other judged cases, or more repeats of one, is another unit: its values are not exchangeable.
    units: dict[Unit, tuple[float, int]] = {}
    replies: dict[Unit, int] = {}
    for keys in clusters.values():
        unit = tuple((key, values.cases[key], len(numbers[key])) for key in sorted(keys))
        scores = [score for key in keys for score in numbers[key]]
        units[unit] = (math.fsum(scores), len(scores))
        if all(key in values.replies for key in keys):
            replies[unit] = hash(tuple(values.replies[key] for key in sorted(keys)))
    return SeriesValues(
        units=units,
        replies=replies,
        direction=column.direction,
        bounded=not column.valueless,
        is_share=not column.valueless and column.is_two_valued,
    )


@check_arguments
def metric_series(runs: Sequence[RunValues], false_alarms: float = FALSE_ALARMS) -> tuple[MetricSeries, ...]:
    """Compute the control limits of every metric on every target over the runs of a suite.

    The permitted false alarms are split evenly over the metrics and targets of a run. A metric that equals the pass rate
    in every run is left out. A new series starts where values are not comparable with those of the run before, and after a
    run outside of its limits.

    Args:
        runs: The values of the runs of one suite, the oldest first.
        false_alarms: The probability, at most, that any run of an unchanged suite is outside of its limits, over all runs,
            metrics and targets; above 0 and below 1.

    Returns:
        For each target the pass rate, then its other metrics, in the order of the newest run.

    Raises:
        ValueError: `false_alarms` is out of range.
    """
    names = [name for values in reversed(runs) for name in values.columns]
    kept = [name for name in dict.fromkeys(names) if not _equals_pass_rate(name, runs)]
    order = list(dict.fromkeys(target for target, _ in kept))
    kept.sort(key=lambda name: (order.index(name[0]), name[1] != VERDICT))
    return tuple(_series(name, runs, kept, false_alarms) for name in kept)


def _equals_pass_rate(name: tuple[str, str], runs: Sequence[RunValues]) -> bool:
    target, metric = name
    return metric != VERDICT and all(
        (target, VERDICT) in one.columns
        and one.columns[name].units == one.columns[target, VERDICT].units
        and one.columns[name].direction == "higher"
        for one in runs
        if name in one.columns
    )


def _series(
    name: tuple[str, str], runs: Sequence[RunValues], kept: Sequence[tuple[str, str]], false_alarms: float
) -> MetricSeries:
    series: list[SeriesRun] = []
    chart: ControlChart | None = None
    before: RunValues | None = None
    known: set[int] = set()
    with_metric = [one for one in runs if name in one.columns]
    for one in with_metric:
        column = one.columns[name]
        reason = FIRST if before is None else _start_reason(one, before, name)
        if series and series[-1].point.outside:
            reason = reason or "the run before is outside of its control limits"
        point: ChartPoint | None = None
        if chart is not None and not reason:
            repeated = _replayed(one, column, known)
            point = chart.add(column.units, repeated)
            reason = "" if point.compared or repeated else "it has no case in common with earlier runs"
        if chart is None or point is None or reason:
            tests = sum(other in one.columns for other in kept)
            chart = ControlChart(false_alarms / max(1, tests), ends=(0.0, 1.0) if column.bounded else None)
            point = chart.add(column.units)
            known = set()
        known.update(column.replies.values())
        last = series[-1] if series and not reason else None
        series.append(
            SeriesRun(
                run=one.run,
                n=sum(n for _, n in column.units.values()),
                point=point,
                start_reason=reason,
                since=last.since if last else one.run.created,
                earlier=last.earlier + 1 if last else 0,
            )
        )
        before = one
    newest = with_metric[-1]
    metrics = {metric.name: metric.unit for metric in newest.run.metrics}
    return MetricSeries(
        target=name[0],
        metric=name[1],
        direction=newest.columns[name].direction,
        unit="" if newest.columns[name].bounded else metrics.get(name[1], "") or "in its own unit",
        is_share=all(one.columns[name].is_share for one in with_metric),
        runs=tuple(series),
    )


def _replayed(one: RunValues, column: SeriesValues, known: Collection[int]) -> set[Unit]:
    """Return the units whose outputs are recorded replies that an earlier run of the series has as well.

    They are not drawn again, so that one unlucky draw would count as a lasting change.
    """
    if not any(spent.replayed for spent in one.run.spending):  # the same calls were sent again
        return set()
    return {unit for unit, reply in column.replies.items() if reply in known}


def _start_reason(now: RunValues, before: RunValues, name: tuple[str, str]) -> str:
    """Return why the values of a run are not comparable with those of the run before; empty if they are."""
    if now.run.repeat != before.run.repeat:
        return f"each case ran {count(before.run.repeat, 'time')} and now runs {count(now.run.repeat, 'time')}"
    column, earlier = now.columns[name], before.columns[name]
    if (column.bounded, column.direction) != (earlier.bounded, earlier.direction):
        return "the scale of the metric has changed"
    return next(_rule_changes(now.run, before.run, name[1]), "")


def _rule_changes(now: Run, before: Run, name: str) -> Iterator[str]:
    """Yield the changes of the scoring rule of a metric, or of all rules for the pass rate."""
    other_model = len({model_and_mode(one.embedder)[0] for one in (now, before) if one.embedder}) > 1
    mine, theirs = ({(metric.dataset, metric.name): metric for metric in one.metrics} for one in (now, before))
    for key in dict.fromkeys([*mine, *theirs]):
        if name not in (VERDICT, key[1]):
            continue
        if key not in mine or key not in theirs:
            if name == VERDICT:
                yield f"the metric {key[1]} is {'new' if key in mine else 'gone'}"
            continue
        decision = decide_rule(mine[key], theirs[key], other_model=other_model)
        if decision is not None and (name == VERDICT or decision.compared == "nothing"):
            yield f"{key[1]}: {decision.was}"


def newest_runs(series: MetricSeries, most: int) -> MetricSeries:
    """Return a series with at most `most` of its newest runs; their limits stay those of the whole series."""
    return replace(series, runs=series.runs[-most:])


def outside_notes(run: Run, series: Sequence[MetricSeries]) -> Iterator[str]:
    """Yield a note for each metric of a run that is outside of its control limits."""
    several = len({one.target for one in series}) > 1
    for one in series:
        last = one.runs[-1]
        point, change = last.point, one.change(last.point)
        if last.run.id != run.id or not change:
            continue
        warning = "Warning: " if change == "worse" else ""
        target = f" of {one_line(one.target, 40)}" if several and one.target else ""
        yield (
            f"{warning}{one_line(one.metric, 40) or 'pass rate'}{target} {OUTSIDE_LIMITS[change]}: "
            f"{outside_text(one, point)} from "
            f"{count(last.earlier, 'run')} since {last.since[:10]}; evalmark trend {run.id} shows them."
        )


def outside_text(series: MetricSeries, point: ChartPoint) -> str:
    """Return the value of a run outside of its limits and the limit, with as many digits as tell them apart."""
    value, limit = point.value, point.passed_limit
    return f"{series_value(series, value, limit)}, {point.outside} the limit of {series_value(series, limit, value)}"


def series_value(series: MetricSeries, value: float | None, other: float | None = None) -> str:
    """Return a value of a series as text that shows on which side of another one it is; a dash if it is unknown."""
    if value is None:
        return "\u2013"
    others = [] if other is None else [other]
    if series.is_share:
        return distinct_from(value, others, percent, 3)
    kind, digits = ("g", 4) if series.unit else ("f", 3)
    return distinct_from(value, others, lambda one, more: f"{one:z.{more}{kind}}", digits)
