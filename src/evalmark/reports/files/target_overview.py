"""The targets of a run side by side, for Markdown and for pages, where its tests are told apart as positive and negative."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalmark.core.values.run import Run
from evalmark.reports.text.target_overview import (
    Cell,
    Column,
    difference_lines,
    differences_title,
    disagreement_lines,
    overview_columns,
    overview_remarks,
)
from evalmark.stats.summary.summary import Summary
from evalmark.stats.summary.target_overview import Overview, overview

from .markdown import listed, safe

_AGAINST = "Judge against machine, on rules that both have looked at"


def overview_of(run: Run, summary: Summary) -> Overview | None:
    """The overview of a run with several targets whose tests are split; None for any other, most of which read no results."""
    if len({group.target for group in summary.groups}) < 2:
        return None
    found = overview(run)
    return found if found.split else None


def overview_in_markdown(run: Run, found: Overview | None) -> Iterator[str]:
    """The table, what to know of it, every two targets compared, and judges against checks; nothing without an overview."""
    if found is None:
        return
    columns = overview_columns(found)
    yield "### Side by side\n\n"
    yield "| " + " | ".join(safe(column.heading) for column in columns) + " |\n"
    yield "|:--" + "|--:" * (len(columns) - 1) + "|\n"
    for row in _rows(columns):
        yield "| " + " | ".join(_in_markdown(cell) for cell in row) + " |\n"
    yield "\n" + " ".join(map(safe, overview_remarks(found))) + "\n\n"
    lines = difference_lines(found)
    yield f"{safe(_sentence(found))}\n\n" if lines else ""
    yield from listed("", lines)
    if against := disagreement_lines(run):
        yield f"{_AGAINST}:\n\n"
        yield from listed("", against)


class Sides(NamedTuple):
    """The same for a page."""

    columns: Sequence[Column]
    rows: Sequence[tuple[Cell, ...]]
    remarks: Sequence[str]
    lines: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    """Sentences, each behind what it is about, under what they say."""


def side_by_side(run: Run, found: Overview | None) -> Sides | None:
    """What a page shows of an overview; None without one."""
    if found is None:
        return None
    columns = overview_columns(found)
    against = disagreement_lines(run)
    lines = [(_sentence(found), difference_lines(found)), (f"{_AGAINST}:", against)]
    return Sides(columns, list(_rows(columns)), overview_remarks(found), lines)


def _sentence(found: Overview) -> str:
    title = differences_title(found)
    return f"{title[0].upper()}{title[1:]}:"


def _rows(columns: list[Column]) -> Iterator[tuple[Cell, ...]]:
    return zip(*(column.cells for column in columns), strict=True)


def _in_markdown(cell: Cell) -> str:
    return safe(cell.said) + (f"<br><sub>{safe(cell.below)}</sub>" if cell.below else "")
