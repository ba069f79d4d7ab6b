"""Terminal text of an import: the outcome for each part of another tool's files."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalmark.core.text import clean, one_line
from evalmark.reports.text.titles import without_repeats

from .console import DEFAULT, TerminalStyle, indented, render

_MOST = 20
"""Most remarks shown."""


def import_screen(
    title: str, parts: Sequence[tuple[str, str, str]], remarks: Sequence[str] = (), style: TerminalStyle = DEFAULT
) -> str:
    """Show each part of the files as `(outcome, name, details)`, grouped by outcome, and the remarks."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(max_width=max(24, style.width * 2 // 5), overflow="fold")
    table.add_column(overflow="fold")
    fates = list(dict.fromkeys(fate for fate, _, _ in parts))
    rows = sorted(parts, key=lambda part: fates.index(part[0]))
    for fate, (_, name, more) in zip(without_repeats(fate for fate, _, _ in rows), rows, strict=True):
        table.add_row(Text(one_line(fate)), Text(one_line(name)), Text(one_line(more), style="dim"))
    shown: list[RenderableType] = [Text(one_line(title), style="bold")]
    if rows:
        shown.append(indented(table))
    return render([*shown, *_remarks(remarks)], style)


def _remarks(remarks: Sequence[str]) -> Iterable[RenderableType]:
    for remark in remarks[:_MOST]:
        yield Text(clean(remark), style="yellow")
    if len(remarks) > _MOST:
        yield Text(f"and {len(remarks) - _MOST:,} more, stored with the run", style="yellow")
