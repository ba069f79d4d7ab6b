"""Terminal text of several targets side by side."""

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.text.judges import agreement_lines
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

from .console import DEFAULT, TerminalStyle, content_width, render

_NAMES = 30
"""Greatest width of target names."""


def overview_screen(run: Run, found: Overview, style: TerminalStyle = DEFAULT) -> str:
    """Show a row for each target, and the difference of each pair."""
    parts: list[RenderableType] = [Text(one_line(run.name), style="bold"), Text("")]
    for table in _tables(overview_columns(found), style):
        parts += [table, Text("")]
    parts += [Text(remark, style="dim") for remark in overview_remarks(found)]
    return render([*parts, *_differences(found), *_agreements(found), *_disagreements(run)], style)


def _agreements(found: Overview) -> Iterable[RenderableType]:
    """Show how far several judges of one metric agree."""
    lines = [(one_line(one.base, 60), said) for one in found.agreements for said in agreement_lines(one)]
    if lines:
        yield Text("")
        yield Text("judges compared", style="bold")
        names = without_repeats(about for about, _ in lines)
        yield Padding(_listed([(name, said) for name, (_, said) in zip(names, lines, strict=True)]), (0, 0, 0, 2))


def _disagreements(run: Run) -> Iterable[RenderableType]:
    """Show judges against automatic checks of the same rules."""
    lines = disagreement_lines(run)
    if lines:
        yield Text("")
        yield Text("judge against machine, on rules that both have looked at", style="bold")
        yield Padding(_listed(lines), (0, 0, 0, 2))


def _differences(found: Overview) -> Iterable[RenderableType]:
    lines = difference_lines(found)
    if not lines:
        return
    yield Text("")
    yield Text(differences_title(found), style="bold")
    yield Padding(_listed(lines), (0, 0, 0, 2))


def _listed(lines: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for about, said in lines:
        table.add_row(Text(about), Text(said))
    return table


def _tables(columns: Sequence[OverviewColumn], style: TerminalStyle) -> Iterator[Table]:
    """Split the columns into tables that fit; each starts with the names."""
    names, rest = columns[0], list(columns[1:])
    gap = 2 if style.width >= 90 else 1
    while rest:
        width, taken = min(_NAMES, _width(names)), 0
        for column in rest:
            width += gap + _width(column)
            if taken and width > content_width(style):
                break
            taken += 1
        yield _table([names, *rest[:taken]], gap)
        del rest[:taken]


def _width(column: OverviewColumn) -> int:
    return max(cell_len(text) for text in (column.heading, *(text for cell in column.cells for text in cell)))


def _table(columns: Sequence[OverviewColumn], gap: int) -> Table:
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(columns[0].heading, max_width=_NAMES, overflow="fold")
    for column in columns[1:]:
        table.add_column(column.heading, justify="right")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(
            *(Text.assemble((cell.said, "bold"), (f"\n{cell.below}", "dim") if cell.below else "") for cell in row)
        )
    return table
