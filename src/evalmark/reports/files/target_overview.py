"""Several targets side by side in Markdown and HTML, for runs with positive and negative tests."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalmark.core.values.run import Run
from evalmark.reports.text.target_overview import (
    OverviewCell,
    OverviewColumn,
    difference_lines,
    differences_title,
    disagreement_lines,
    overview_columns,
    overview_remarks,
)
from evalmark.stats.summary.summary import Summary
from evalmark.stats.summary.target_overview import Overview, overview

from .markdown import markdown_list, markdown_text

_AGAINST = "Judge against automatic checks, on rules that both checked"


def split_overview(run: Run, summary: Summary) -> Overview | None:
    """Return the overview of a run with several targets and split tests; else None."""
    if len({group.target for group in summary.groups}) < 2:
        return None
    figures = overview(run)
    return figures if figures.split else None


def overview_in_markdown(run: Run, figures: Overview | None) -> Iterator[str]:
    """Yield the overview as Markdown; nothing without one."""
    if figures is None:
        return
    columns = overview_columns(figures, run.gate)
    yield "### Side by side\n\n"
    yield "| " + " | ".join(markdown_text(column.heading) for column in columns) + " |\n"
    yield "|:--" + "|--:" * (len(columns) - 1) + "|\n"
    for row in _rows(columns):
        yield "| " + " | ".join(_in_markdown(cell) for cell in row) + " |\n"
    yield "\n" + " ".join(map(markdown_text, overview_remarks(figures))) + "\n\n"
    lines = difference_lines(figures)
    yield f"{markdown_text(_sentence(figures))}\n\n" if lines else ""
    yield from markdown_list("", lines)
    if against := disagreement_lines(run):
        yield f"{_AGAINST}:\n\n"
        yield from markdown_list("", against)


class OverviewTables(NamedTuple):
    """The overview for an HTML page."""

    columns: Sequence[OverviewColumn]
    rows: Sequence[tuple[OverviewCell, ...]]
    remarks: Sequence[str]
    lines: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    """Lists of `(topic, sentence)` by heading."""


def overview_tables(run: Run, figures: Overview | None) -> OverviewTables | None:
    """Prepare an overview for an HTML page; None without one."""
    if figures is None:
        return None
    columns = overview_columns(figures, run.gate)
    against = disagreement_lines(run)
    lines = [(_sentence(figures), difference_lines(figures)), (f"{_AGAINST}:", against)]
    return OverviewTables(columns, list(_rows(columns)), overview_remarks(figures), lines)


def _sentence(figures: Overview) -> str:
    title = differences_title(figures)
    return f"{title[0].upper()}{title[1:]}:"


def _rows(columns: list[OverviewColumn]) -> Iterator[tuple[OverviewCell, ...]]:
    return zip(*(column.cells for column in columns), strict=True)


def _in_markdown(cell: OverviewCell) -> str:
    return markdown_text(cell.text) + (f"<br><sub>{markdown_text(cell.below)}</sub>" if cell.below else "")
