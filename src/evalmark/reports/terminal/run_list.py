"""Terminal list of runs."""

from collections.abc import Iterable
from typing import Literal

from rich.cells import cell_len
from rich.text import Text

from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.text.titles import run_origin

from .console import DEFAULT, TerminalStyle, content_width, data_table, render

_STYLES = {"worse": "red", "better": "green"}
_FLEXIBLE = ("name", "target")
"""Columns that may be shortened."""


def run_list_screen(runs: Iterable[Run], style: TerminalStyle = DEFAULT) -> str:
    """List runs, one per line; narrow terminals show fewer columns."""
    listed = list(runs)
    rows = [_line_of(run, style) for run in listed]
    if not rows:
        return render([Text("No runs yet.")], style)
    if any(run.change for run in listed):
        rows = [row | {"limits": run.change} for row, run in zip(rows, listed, strict=True)]
    widest = {
        heading: max(cell_len(text) for text in (heading, *(row[heading] for row in rows))) for heading in rows[0]
    }
    room = content_width(style) - 2 * (len(widest) - 1) - sum(widest[h] for h in widest if h not in _FLEXIBLE)
    table = data_table()
    for heading, width in widest.items():
        others = min(sum(widest[h] for h in _FLEXIBLE if h in widest and h != heading), (room + 1) // 2)
        most = max(6, room - others) if heading in _FLEXIBLE else width
        justify: Literal["left", "right"] = "right" if heading == "results" else "left"
        table.add_column(heading, justify=justify, no_wrap=True, overflow="ellipsis", max_width=most)
    for row in rows:
        table.add_row(*(Text(text, style=_STYLES.get(text, "")) for text in row.values()))
    return render([table], style)


def _line_of(run: Run, style: TerminalStyle) -> dict[str, str]:
    cells = {"run": run.id, "created": run_origin(run)[1], "status": run.status, "name": run.name}
    cells |= {"target": run.target, "results": f"{len(run.results):,}"}
    if style.width < 100:
        del cells["created"]  # the id begins with it
    if style.width < 80:
        del cells["target"]
    return {heading: one_line(text) for heading, text in cells.items()}
