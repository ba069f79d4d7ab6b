"""Sentences about a metric over runs, for all reports."""

from collections.abc import Iterator, Sequence

from evalmark.core.text import count, one_line
from evalmark.stats.comparison.metric_series import FIRST, MetricSeries, SeriesRun, outside_text, series_value
from evalmark.stats.inference.control_chart import FALSE_ALARMS

from .numbers import range_text


def metric_name(series: MetricSeries) -> str:
    """Name the metric of a series."""
    return one_line(series.metric, 60) or "pass rate"


def limits_text(series: MetricSeries, run: SeriesRun) -> str:
    """Format the control limits of a run; `none` where no value would be outside yet."""
    low, high = run.point.low, run.point.high
    if low is not None and high is not None:
        return range_text(series_value(series, low), series_value(series, high))
    if low is not None:
        return f"from {series_value(series, low)}"
    return "none" if high is None else f"to {series_value(series, high)}"


def outside_lines(series: Sequence[MetricSeries]) -> Iterator[tuple[str, str]]:
    """Yield `worse` or `better` and a sentence for each run outside of its control limits, the newest first."""
    several = len({one.target for one in series}) > 1
    runs = [(one, run) for one in series for run in one.runs if run.point.outside]
    for one, run in sorted(runs, key=lambda found: found[1].run.created, reverse=True):
        change = one.change(run.point)
        target = f" of {one_line(one.target, 40)}" if several and one.target else ""
        value = f"{metric_name(one)}{target} {outside_text(one, run.point)}"
        yield change, f"{run_name(run)}: {value} from {count(run.earlier, 'earlier run')}"


def run_name(run: SeriesRun) -> str:
    """Name a run by its id, and by the name that its user gave it."""
    return f"{run.run.id} ({one_line(run.run.given_name, 40)})" if run.run.given_name else run.run.id


def start_lines(series: Sequence[MetricSeries]) -> Iterator[str]:
    """Yield a sentence for each run with which a new series starts, and why."""
    starting = [run for one in series for run in one.runs if run.start_reason not in ("", FIRST)]
    yield from dict.fromkeys(f"{run_name(run)}: a new series starts: {run.start_reason}" for run in starting)


def false_alarm_sentence(series: Sequence[MetricSeries]) -> str:
    """State the probability of a run outside while nothing changes."""
    over = f"all runs of a series and {count(len(series), 'metric')}" if len(series) > 1 else "all runs of a series"
    return (
        "While nothing changes, and cases vary independently of each other, the chance of any run outside is at most "
        f"{100 * FALSE_ALARMS:g} %, over {over}."
    )
