"""Rendering for terminals: width, colours and characters."""

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark.core.text import clean, is_plain
from evalmark.reports.text.numbers import ASCII_BLOCKS, BLOCKS, DASH, MINUS
from evalmark.reports.text.verdicts import gate_outcome
from evalmark.stats.summary.gate import GateVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalStyle:
    """Options of terminal text."""

    width: int = 100
    color: bool = False
    unicode: bool = True
    """False uses ASCII only."""
    worst: int = 5
    """How many of the worst cases to show."""
    remarks: tuple[str, ...] = ()
    """Sentences to print above the verdict."""
    store: str = ""
    """Path of the store, shown at the end with the command that shows the run again."""
    flags: str = ""
    """Further flags of that command, with a leading space."""
    resumable: bool = True
    """Whether the command can resume an incomplete run."""


DEFAULT = TerminalStyle()
_PLAIN_WIDTH = 100
COLORS = {
    "pass": "green",
    "fail": "red",
    "error": "magenta",
    "unscored": "yellow",
    "cannot tell": "yellow",
    "ungated": "",
}
MARKS = {"pass": "✓", "fail": "✗", "error": "!", "unscored": "?", "ungated": "·", "cannot tell": "?"}
_ASCII = str.maketrans(
    {
        "✓": "+",
        "✗": "x",
        "·": "-",
        "µ": "u",
        "±": "+-",
        "→": "->",
        "↓": "v",
        "●": "o",
        "▼": "v",
        "▲": "^",
        "▽": "v",
        "△": "^",
        MINUS: "-",
        "╌": "-",
        "┊": "|",
        "│": "|",
        "┤": "+",
        DASH: "-",
        "…": "...",
        "≥": ">=",
        "≤": "<=",
        "\u201c": '"',
        "\u201d": '"',
    }
    | dict(zip(BLOCKS, ASCII_BLOCKS, strict=True))
)


def stdout_style(store: str = "", worst: int = 5, flags: str = "") -> TerminalStyle:
    """Return the width, colours and characters of the standard output, with the run's store and its `--store` flag."""
    if is_plain(os.environ):
        return TerminalStyle(store=store, flags=flags, worst=worst, width=_PLAIN_WIDTH, unicode=False)
    is_open = sys.stdout is not None and not sys.stdout.closed
    is_terminal = is_open and sys.stdout.isatty()
    return TerminalStyle(
        store=store,
        flags=flags,
        worst=worst,
        width=max(60, min(shutil.get_terminal_size((100, 24)).columns, 140)),
        color=is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        unicode=(getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").startswith("utf"),
    )


def title_line(title: Text, outcome: Text) -> Table:
    """Make a line with a title at the left and an outcome at the right."""
    line = Table.grid(expand=True, padding=(0, 2, 0, 0))
    line.add_column(ratio=1, overflow="fold")
    line.add_column(justify="right", no_wrap=True)
    line.add_row(title, outcome)
    return line


def data_table(gap: int = 2, *, expand: bool = False) -> Table:
    """Make an empty table with headings and without borders."""
    return Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim", expand=expand)


def topic_table(lines: Iterable[tuple[str, str]], *, gap: int = 2, **topics: Any) -> Table:
    """Make a table of topics and sentences; `topics` are options of the first column."""
    table = Table.grid(padding=(0, gap, 0, 0))
    table.add_column(**({"overflow": "fold"} | topics))
    table.add_column(overflow="fold")
    for topic, sentence in lines:
        table.add_row(Text(topic), Text(sentence))
    return table


def column_gap(style: TerminalStyle) -> int:
    """Columns between those of a table."""
    return 2 if style.width >= 90 else 1


def indented(part: RenderableType, by: int = 2) -> Padding:
    """Indent a part."""
    return Padding(part, (0, 0, 0, by))


def gate_table(verdict: GateVerdict) -> Table:
    """Make a table of the gate's outcome and its reasons."""
    outcome = f"Gate {gate_outcome(verdict)}:"
    lines = [("" if number else outcome, clean(reason)) for number, reason in enumerate(verdict.reasons)]
    return topic_table(lines, gap=1, no_wrap=True, style=f"bold {COLORS[verdict.outcome]}")


def content_width(style: TerminalStyle) -> int:
    """Width between the margins; an ellipsis needs three columns in ASCII."""
    return style.width - (2 if style.unicode else 8)


def render(parts: Iterable[RenderableType], style: TerminalStyle) -> str:
    """Render parts as text; only `style` decides, not the environment."""
    stream = StringIO()
    console = Console(
        file=stream,
        width=content_width(style),
        color_system="standard" if style.color else None,
        force_terminal=style.color,
        no_color=not style.color,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )
    for part in parts:
        is_command = isinstance(part, Text) and part.overflow == "ignore"  # it stays whole, longer than a line or not
        console.print(Group(part), crop=not is_command)
    lines = [f"  {line.rstrip()}".rstrip() for line in stream.getvalue().split("\n")]
    return _encoded("\n" + "\n".join(lines), style)


def plain_lines(lines: Iterable[str], style: TerminalStyle) -> str:
    """Render many plain lines quickly, as `render` would."""
    return _encoded("".join(f"  {line}".rstrip() + "\n" for line in lines), style)


def _encoded(text: str, style: TerminalStyle) -> str:
    return text if style.unicode else text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
