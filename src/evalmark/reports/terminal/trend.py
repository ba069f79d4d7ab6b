"""Terminal chart of a metric over runs, with its control limits."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from evalmark.core.text import count, one_line
from evalmark.reports.text.change_words import OUTCOME_SIGNS
from evalmark.reports.text.trend import false_alarm_sentence, metric_name, outside_lines, start_lines
from evalmark.stats.comparison.metric_series import MetricSeries, SeriesRun, series_value

from .console import DEFAULT, TerminalStyle, content_width, indented, render

_ROWS = 11
_LABEL_WIDTH = 10
"""The largest width of a label of the axis."""
_MARKS = {"": "●", "worse": OUTCOME_SIGNS["worse"], "better": OUTCOME_SIGNS["better"]}
_STYLES = {"●": "", "▼": "bold red", "▲": "bold green", "╌": "dim", "┊": "dim", " ": ""}


def trend_screen(series: Sequence[MetricSeries], shown: Sequence[MetricSeries], style: TerminalStyle = DEFAULT) -> str:
    """Draw the shown series, and list the runs of all series that are outside of their limits."""
    if not shown:
        return render([Text("No complete run of this suite has a score yet.")], style)
    parts: list[RenderableType] = []
    for one in shown:
        parts += [*_chart(one, style), Text("")]
    last = shown[0].runs[-1].run
    return render(
        [Text(one_line(last.name or last.suite, 70), style="bold"), Text(""), *parts, *_remarks(series, shown)], style
    )


def _chart(series: MetricSeries, style: TerminalStyle) -> Iterator[RenderableType]:
    width = content_width(style) - _LABEL_WIDTH - 3
    runs = series.runs[-width:]
    step = max(1, min(6, width // len(runs)))
    target = f" · {one_line(series.target, 40)}" if series.target else ""
    left_out = len(series.runs) - len(runs)
    newest_only = f" (the newest {len(runs):,})" if left_out else ""
    yield Text(f"{metric_name(series)}{target} · {count(len(series.runs), 'run')}{newest_only}")
    low, high = _ends(runs)
    rows = _rows(series, runs, (low, high), step)
    values = {0: high, len(rows) // 2: (low + high) / 2, len(rows) - 1: low}
    labels = {number: series_value(series, value) for number, value in values.items()}
    widest = max(map(len, labels.values()))
    for number, row in enumerate(rows):
        line = Text(f"{labels.get(number, ''):>{widest}} ", style="dim")
        line.append("┤" if number in labels else "│")
        for mark in row:
            line.append(mark, style=_STYLES[mark])
        line.rstrip()
        yield line
    first, newest = (one_line(one.run.created[:10]) for one in (runs[0], runs[-1]))
    gap = len(runs) * step - len(first)
    dates = f"{first}{newest:>{gap}}" if gap > len(newest) else newest if gap >= 0 else ""
    yield indented(Text(dates, style="dim"), widest + 2)


def _ends(runs: Sequence[SeriesRun]) -> tuple[float, float]:
    """Return the lowest and the highest number on a chart."""
    numbers = [number for one in runs for number in (one.point.value, *_known_limits(one))]
    low, high = min(numbers), max(numbers)
    return (low, high) if high > low else (low - 0.05, high + 0.05)


def _known_limits(run: SeriesRun) -> list[float]:
    return [limit for limit in (run.point.low, run.point.high) if limit is not None]


def _rows(series: MetricSeries, runs: Sequence[SeriesRun], ends: tuple[float, float], step: int) -> list[list[str]]:
    """Draw runs from left to right on a grid of characters, the top row first."""
    low, high = ends

    def row(value: float) -> int:
        return round((high - value) / (high - low) * (_ROWS - 1))

    grid = [[" "] * (len(runs) * step) for _ in range(_ROWS)]
    for number, one in enumerate(runs):
        columns = range(number * step, (number + 1) * step)
        if one.start_reason and number:
            for line in grid:
                line[columns[0]] = "┊"
        for limit in _known_limits(one):
            grid[row(limit)][columns[0] : columns[-1] + 1] = "╌" * step
        grid[row(one.point.value)][columns[step // 2]] = _MARKS[series.change(one.point)]
    return grid


def _remarks(series: Sequence[MetricSeries], shown: Sequence[MetricSeries]) -> Iterator[RenderableType]:
    for change, line in outside_lines(series):
        yield Text(f"{_MARKS[change]} {change}: {line}", style=_STYLES[_MARKS[change]])
    for line in start_lines(shown):
        yield Text(f"┊ {line}", style="dim")
    yield Text(f"● run  ╌ control limits  {false_alarm_sentence(series)}", style="dim")
