"""The targets of a run side by side, in Markdown and in HTML, where its tests are told apart as positive and negative."""

from collections.abc import Iterator, Sequence

from evalmark import wording
from evalmark.stats import Overview, Summary, overview
from evalmark.values import Run
from evalmark.wording import Cell, Column

from .html_parts import escaped, said
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
    columns = wording.overview_columns(found)
    yield "### Side by side\n\n"
    yield "| " + " | ".join(safe(column.heading) for column in columns) + " |\n"
    yield "|:--" + "|--:" * (len(columns) - 1) + "|\n"
    for row in _rows(columns):
        yield "| " + " | ".join(_in_markdown(cell) for cell in row) + " |\n"
    yield "\n" + " ".join(map(safe, wording.overview_remarks(found))) + "\n\n"
    lines = wording.difference_lines(found)
    yield f"{safe(_sentence(found))}\n\n" if lines else ""
    yield from listed("", lines)
    if against := wording.disagreement_lines(run):
        yield f"{_AGAINST}:\n\n"
        yield from listed("", against)


def overview_in_html(run: Run, found: Overview | None) -> Iterator[str]:
    """The same for a page; nothing without an overview."""
    if found is None:
        return
    columns = wording.overview_columns(found)
    yield "<h2>Side by side</h2>\n<div class=wide><table class=sides><thead><tr>"
    yield "".join(f"<th>{escaped(column.heading)}" for column in columns) + "<tbody>\n"
    for name, *cells in _rows(columns):
        yield f"<tr><th>{escaped(name.said)}" + "".join(map(_in_html, cells)) + "\n"
    yield f"</table></div>\n<p class=quiet>{escaped(' '.join(wording.overview_remarks(found)))}</p>\n"
    lines = wording.difference_lines(found)
    yield from _said_in_html(_sentence(found), lines)
    yield from _said_in_html(f"{_AGAINST}:", wording.disagreement_lines(run))


def _said_in_html(title: str, lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f"<p>{escaped(title)}</p>\n{said(lines)}" if lines else ""


def _sentence(found: Overview) -> str:
    title = wording.differences_title(found)
    return f"{title[0].upper()}{title[1:]}:"


def _rows(columns: list[Column]) -> Iterator[tuple[Cell, ...]]:
    return zip(*(column.cells for column in columns), strict=True)


def _in_markdown(cell: Cell) -> str:
    return safe(cell.said) + (f"<br><sub>{safe(cell.below)}</sub>" if cell.below else "")


def _in_html(cell: Cell) -> str:
    return f"<td>{escaped(cell.said)}" + (f"<small>{escaped(cell.below)}</small>" if cell.below else "")
