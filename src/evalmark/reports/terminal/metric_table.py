"""Terminal table of a group's metrics, with as many columns as fit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalmark.core.text import one_line
from evalmark.core.values.run import Gate
from evalmark.reports.text import numbers, titles
from evalmark.reports.text.gate_marks import needed_mean
from evalmark.reports.text.numbers import block_bars, mean_text, mean_unit, share_interval, share_text
from evalmark.reports.text.similarity import table_metrics
from evalmark.stats.summary.summary import MetricSummary, SummaryGroup

from .console import TerminalStyle, column_gap, content_width, data_table

_LONGEST = 60
"""Longest metric name in characters."""
_FOLDED = 8
"""Least width of metric names where no layout fits; figures are never cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """Optional columns of the table."""

    rates: bool = True
    """Show the interval of each pass rate."""
    unit_beside: bool = True
    """Show the unit beside the mean; False puts it below."""
    spread: bool = True
    """Show the histogram."""
    counts: bool = True
    """Show the number of scores of each metric."""
    unscored: bool = True
    """Show how many scores are missing."""
    errors: bool = True
    """Show how many scores are errors."""


_LAYOUTS = (
    TableLayout(),
    TableLayout(rates=False),
    TableLayout(rates=False, unit_beside=False),
    TableLayout(rates=False, unit_beside=False, spread=False),
    TableLayout(rates=False, unit_beside=False, spread=False, counts=False),
)
"""From wide to narrow; the first that fits is used."""
_NARROW = _LAYOUTS[3:]
"""Layouts that break names between words."""


def fitting_layout(parts: Sequence[SummaryGroup], gate: Gate | None, style: TerminalStyle) -> TableLayout:
    """Return the first layout in which all tables fit, else the last, without columns that would say nothing."""
    gap = column_gap(style)
    metrics = [metric for part in parts for metric in part.metrics]
    for fullest in _LAYOUTS if any(map(_rate_is_news, metrics)) else _LAYOUTS[1:]:
        layout = replace(
            fullest,
            spread=fullest.spread and not all(metric.truths or not metric.n for metric in metrics),
            unscored=any(metric.unscored for metric in metrics),
            errors=any(metric.errors for metric in metrics),
        )
        rows = ([_cells(metric, gate, layout) for metric in part.metrics] for part in parts if part.metrics)
        if all(_width(cells, gap, by_words=fullest in _NARROW) <= content_width(style) for cells in rows):
            break
    return layout


def _rate_is_news(metric: MetricSummary) -> bool:
    """Return whether the interval of the pass rate differs from that of the mean."""
    return metric.pass_rate.n > 0 and not (metric.truths and metric.pass_rate.interval == metric.interval)


def metric_table(
    part: SummaryGroup, gate: Gate | None, layout: TableLayout, style: TerminalStyle
) -> Iterable[RenderableType]:
    """Yield the table, and a line on what its cells leave open."""
    rows, gap = [_cells(metric, gate, layout) for metric in table_metrics(part)], column_gap(style)
    fits = _width(rows, gap, by_words=True) <= content_width(style)
    yield _table(rows, gap, _widest(rows, "metric", by_words=True) if fits else _FOLDED)
    if notes := titles.metric_table_notes(part.metrics):
        yield Text(notes, style="dim")


def _cells(metric: MetricSummary, gate: Gate | None, layout: TableLayout) -> dict[str, Text]:
    needed = needed_mean(metric, gate)
    name = Text(one_line(metric.name, _LONGEST))
    name.append(" ↓" if metric.direction == "lower" else "", style="dim")
    mean = Text(mean_text(metric, needed), style="bold")
    if more := mean_unit(metric, needed):
        mean.append(f"{' ' if layout.unit_beside else chr(10)}{more}", style="not bold dim")
    cells = {
        "metric": name,
        "n": Text(f"{metric.n:,}"),
        "mean": mean,
        "95 % interval": Text(numbers.mean_interval(metric)),
        "passed": Text(share_text(metric.pass_rate)),
        "95 % interval ": Text(share_interval(metric.pass_rate.interval)),
        "unscored": _missing(metric.unscored, "yellow"),
        "errors": _missing(metric.errors, "magenta"),
        "low   high": Text(block_bars(metric.bins), style="cyan"),
    }
    shown = {
        "n": layout.counts,
        "95 % interval ": layout.rates,
        "unscored": layout.unscored,
        "errors": layout.errors,
        "low   high": layout.spread,
    }
    return {heading: cell for heading, cell in cells.items() if shown.get(heading, True)}


def _width(rows: Sequence[Mapping[str, Text]], gap: int, *, by_words: bool) -> int:
    return sum(_widest(rows, heading, by_words=by_words) for heading in rows[0]) + gap * (len(rows[0]) - 1)


def _widest(rows: Sequence[Mapping[str, Text]], heading: str, *, by_words: bool) -> int:
    cells = [row[heading].plain for row in rows]
    parts = (
        part for cell in cells for part in (cell.split() if by_words and heading == "metric" else cell.split("\n"))
    )
    return max(map(cell_len, (heading.strip(), *parts)))


def _table(rows: Sequence[Mapping[str, Text]], gap: int, shortest: int) -> Table:
    table = data_table(gap)
    for heading in rows[0]:
        if heading == "metric":
            table.add_column(heading, overflow="fold", min_width=shortest)
        elif heading == "low   high":
            table.add_column(heading, no_wrap=True)
        else:
            table.add_column(heading.strip(), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row.values())
    return table


def _missing(n: int, style: str) -> Text:
    return Text(f"{n:,}", style=style if n else "dim")
