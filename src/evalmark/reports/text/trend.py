"""Sentences on a metric over runs, for all reports."""

from collections.abc import Iterator, Sequence

from evalmark.core.text import count, one_line
from evalmark.stats.comparison.metric_series import FIRST, MetricSeries, SeriesRun, series_value

from .numbers import DASH


def metric_name(series: MetricSeries) -> str:
    """Name the metric of a series."""
    return one_line(series.metric, 60) or "pass rate"


def limits_text(series: MetricSeries, run: SeriesRun) -> str:
    """Format the control limits of a run; `none` where no value would be outside yet."""
    low, high = run.point.low, run.point.high
    if low is None or high is None:
        return (
            f"from {series_value(series, low)}"
            if low is not None
            else f"to {series_value(series, high)}"
            if high is not None
            else "none"
        )
    return f"{series_value(series, low)} {DASH} {series_value(series, high)}"


def outside_lines(series: Sequence[MetricSeries]) -> Iterator[tuple[str, str]]:
    """Yield `worse` or `better` and a sentence for each run outside of its control limits, the newest first."""
    several = len({one.target for one in series}) > 1
    runs = [(one, run) for one in series for run in one.runs if run.point.outside]
    for one, run in sorted(runs, key=lambda found: found[1].run.created, reverse=True):
        change = one.change(run.point)
        target = f" of {one_line(one.target, 40)}" if several and one.target else ""
        limit = run.point.low if run.point.outside == "below" else run.point.high
        value = f"{metric_name(one)}{target} {series_value(one, run.point.value)}"
        limited = f"{run.point.outside} the limit of {series_value(one, limit)} after {count(run.earlier, 'run')}"
        yield change, f"{run.run.id}: {value}, {limited}"


def start_lines(series: Sequence[MetricSeries]) -> Iterator[str]:
    """Yield a sentence for each run with which a new series starts, and why."""
    found: dict[str, None] = {}
    for one in series:
        for run in one.runs:
            if run.starts and run.starts != FIRST:
                found[f"{run.run.id}: a new series starts, as {run.starts}"] = None
    return iter(found)


def false_alarm_sentence(series: Sequence[MetricSeries], share: float = 0.05) -> str:
    """Say how often runs are outside while nothing changes."""
    over = f"all runs of a series and {count(len(series), 'metric')}" if len(series) > 1 else "all runs of a series"
    return f"While nothing changes, the chance of any run outside is at most {100 * share:g} %, over {over}."
