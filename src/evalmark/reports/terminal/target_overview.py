"""Terminal text of several targets side by side."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.text.judges import agreement_rows
from evalmark.reports.text.target_overview import (
    OverviewColumn,
    difference_lines,
    differences_title,
    disagreement_lines,
    overview_columns,
    overview_remarks,
)
from evalmark.reports.text.titles import without_repeats
from evalmark.stats.summary.target_overview import Overview

from .console import DEFAULT, FieldList, TerminalStyle, column_gap, content_width, data_table, indented, render

_NAMES = 30
"""Greatest width of target names."""


def overview_screen(run: Run, overview: Overview, style: TerminalStyle = DEFAULT) -> str:
    """Show a row for each target, and the difference of each pair."""
    parts: list[RenderableType] = [Text(one_line(run.name), style="bold"), Text("")]
    for table in _tables(overview_columns(overview, run.gate), style):
        parts += [table, Text("")]
    parts += [Text(remark, style="dim") for remark in overview_remarks(overview)]
    agreements = agreement_rows(overview.agreements)
    topics = without_repeats(topic for topic, _ in agreements)
    sections = {
        differences_title(overview): difference_lines(overview),
        "judges compared": [(topic, line) for topic, (_, line) in zip(topics, agreements, strict=True)],
        "judge against automatic checks, on rules that both checked": disagreement_lines(run),
    }
    for title, lines in sections.items():
        parts += [Text(""), Text(title, style="bold"), indented(FieldList(lines, style=""))] if lines else []
    return render(parts, style)


def _tables(columns: Sequence[OverviewColumn], style: TerminalStyle) -> Iterator[Table]:
    """Split the columns into tables that fit; each starts with the names."""
    names, rest = columns[0], list(columns[1:])
    gap = column_gap(style)
    while rest:
        width, fitting = min(_NAMES, _width(names)), 0
        for column in rest:
            width += gap + _width(column)
            if fitting and width > content_width(style):
                break
            fitting += 1
        yield _table([names, *rest[:fitting]], gap)
        del rest[:fitting]


def _width(column: OverviewColumn) -> int:
    return max(cell_len(text) for text in (column.heading, *(text for cell in column.cells for text in cell)))


def _table(columns: Sequence[OverviewColumn], gap: int) -> Table:
    table = data_table(gap)
    table.add_column(columns[0].heading, max_width=_NAMES, overflow="fold")
    for column in columns[1:]:
        table.add_column(column.heading, justify="right")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(
            *(Text.assemble((cell.text, "bold"), (f"\n{cell.below}", "dim") if cell.below else "") for cell in row)
        )
    return table
