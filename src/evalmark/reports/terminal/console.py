"""Rendering for terminals: width, colours and characters."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO

from rich.console import Console, ConsoleOptions, Group, RenderableType
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
    """False uses ASCII for all signs of reports; texts of the data keep their characters."""
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
_NO_BREAK_SPACE = "\ue000"
"""Stands for a space that must not end a line; rich would break at every character of white space."""
_NUMBERS = re.compile(rf"\d(?: %)?(?: (?:{DASH}|to) [+{MINUS}]?\d[\d.,]*(?: %)?)?")
_NAMES, _NARROW = 14, 70
"""Greatest width of a column of names in less than this width."""
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


def _unbroken(text: Text) -> Text:
    """Keep the ends of an interval, and a number and its percent sign, on one line."""
    unbroken = text.copy()
    unbroken.plain = _NUMBERS.sub(lambda found: found[0].replace(" ", _NO_BREAK_SPACE), text.plain)
    return unbroken


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


class FieldList:
    """Names, each with a text beside it; a name too long for their column has a line of its own above its text."""

    def __init__(
        self, rows: Iterable[tuple[str, str | Text]] = (), *, style: str = "dim", gap: int = 2, least: int = 0
    ) -> None:
        self._rows: list[tuple[Text | None, Text]] = []
        self._style, self._gap, self._least = style, gap, least
        for name, text in rows:
            self.add_row(name, text)

    def add_row(self, name: str, text: str | Text) -> None:
        """Add a name and its text."""
        self._rows.append((Text(name, style=self._style), Text(text) if isinstance(text, str) else text))

    def add_heading(self, heading: Text) -> None:
        """Add a line to the left of the names that follow."""
        self._rows.append((None, heading))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines; a column of names takes three tenths of the width at most, and less of a narrow terminal."""
        widths = [name.cell_len for name, _ in self._rows if name is not None]
        most = max(self._least, _NAMES if options.max_width < _NARROW else 3 * options.max_width // 10)
        column = max((width for width in widths if width <= most), default=0)
        indent = 2 if len(widths) < len(self._rows) else 0
        left = indent + (column or 2) + (self._gap if column else 0)
        for name, text in self._rows:
            if name is None:
                yield text
                continue
            lines = _unbroken(text).wrap(console, max(1, options.max_width - left), overflow="fold")
            beside = name.cell_len <= column and lines
            if not beside:
                yield Text(" " * indent).append_text(name)
            for number, line in enumerate(lines):
                start = Text(" " * indent).append_text(name) if beside and not number else Text()
                yield start.append(" " * (left - start.cell_len)).append_text(line)


def column_gap(style: TerminalStyle) -> int:
    """Columns between those of a table."""
    return 2 if style.width >= 90 else 1


def indented(part: RenderableType, by: int = 2) -> Padding:
    """Indent a part."""
    return Padding(part, (0, 0, 0, by))


def gate_lines(verdict: GateVerdict) -> FieldList:
    """Make a list of the gate's outcome and its reasons."""
    outcome = f"Gate {gate_outcome(verdict)}:"
    lines = [("" if number else outcome, clean(reason)) for number, reason in enumerate(verdict.reasons)]
    return FieldList(lines, gap=1, style=f"bold {COLORS[verdict.outcome]}", least=len(outcome))


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
        if isinstance(part, Text):
            part = _unbroken(part)
        is_command = isinstance(part, Text) and part.overflow == "ignore"  # it stays whole, longer than a line or not
        console.print(Group(part), crop=not is_command)
    lines = [f"  {line.rstrip()}".rstrip() for line in stream.getvalue().replace(_NO_BREAK_SPACE, " ").split("\n")]
    return _encoded("\n" + "\n".join(lines), style)


def plain_lines(lines: Iterable[str], style: TerminalStyle) -> str:
    """Render many plain lines quickly, as `render` would."""
    return _encoded("".join(f"  {line}".rstrip() + "\n" for line in lines), style)


def _encoded(text: str, style: TerminalStyle) -> str:
    """Replace the signs of reports by ASCII; characters of the data that a stream cannot encode are escaped where they are printed."""
    return text if style.unicode else text.translate(_ASCII)
