"""A metric over runs as JSON and as Markdown."""

from collections.abc import Iterator, Sequence
from typing import Any

from evalmark.core.text import one_line
from evalmark.reports.text.change_words import outcome_mark
from evalmark.reports.text.trend import (
    false_alarm_sentence,
    limits_text,
    metric_name,
    outside_lines,
    start_lines,
)
from evalmark.stats.comparison.metric_series import MetricSeries, SeriesRun, series_value
from evalmark.stats.inference.control_chart import FALSE_ALARMS

from .json_values import field_values, json_line
from .markdown import markdown_text

FORMAT = {"format": "evalmark-trend", "version": 1}
_SIGNS = {"": "", "worse": outcome_mark("worse"), "better": outcome_mark("better")}


def trend_as_json(series: Sequence[MetricSeries]) -> Iterator[str]:
    """Yield all series as one JSON document."""
    yield json_line(FORMAT | {"false_alarms": FALSE_ALARMS, "series": [_series(one) for one in series]}) + "\n"


def _series(series: MetricSeries) -> dict[str, Any]:
    return {
        **field_values(series, "target"),
        "metric": series.metric or None,
        **field_values(series, "direction", "unit"),
        "runs": [_run(series, run) for run in series.runs],
    }


def _run(series: MetricSeries, run: SeriesRun) -> dict[str, Any]:
    return {
        **field_values(run.run, "id", "created", "revision"),
        "n": run.n,
        **field_values(run.point, "value", "low", "high", "outside", "compared"),
        "change": series.change(run.point) or None,
        "starts": run.start_reason or None,
    }


def trend_in_markdown(series: Sequence[MetricSeries], shown: Sequence[MetricSeries]) -> Iterator[str]:
    """Yield the shown series as Markdown tables, the newest run first, and the runs of all series that are outside."""
    for one in shown:
        target = f" of {markdown_text(one_line(one.target, 60))}" if one.target else ""
        yield f"## {markdown_text(metric_name(one))}{target}\n\n"
        yield "| run | created | commit | n | value | control limits | outside |\n|:--|:--|:--|--:|--:|:--|:--|\n"
        for run in reversed(one.runs):
            cells = [
                markdown_text(run.run.id),
                markdown_text(run.run.created[:16].replace("T", " ")),
                markdown_text(run.run.revision[:8]),
                f"{run.n:,}",
                series_value(one, run.point.value),
                limits_text(one, run),
                _SIGNS[one.change(run.point)],
            ]
            yield f"| {' | '.join(cells)} |\n"
        yield "\n"
    lines = [f"{change}: {line}" for change, line in outside_lines(series)] + list(start_lines(shown))
    yield "".join(f"- {markdown_text(line)}\n" for line in lines) + ("\n" if lines else "")
    yield f"<sub>{markdown_text(false_alarm_sentence(series))}</sub>\n"
