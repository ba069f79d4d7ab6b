"""Rows of a benchmark: text lines, or JSON for `benchmarks/run`, each with the measured value, the bar and whether it is met."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass

AddRow = Callable[..., None]
"""Adds a row; takes its fields by name."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure; `found` is None if nothing was measured, and `note` says why."""

    what: str
    found: float | None
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    """The bar: the most or the least that is acceptable."""
    goal: float | None = None
    """A stricter limit than the bar."""
    by: str = "evalmark"
    """What was measured: evalmark, or another tool on the same work in the same run."""
    floor: str = ""
    """The figure of the least that the work takes, or of the way it is compared with, in the same run."""
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None without a bar or a figure."""
        if self.found is None or (self.at_most is None and self.at_least is None):
            return None
        above = self.at_least is None or self.found >= self.at_least
        return above and (self.at_most is None or self.found <= self.at_most)


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="print rows as lines of JSON, and all other text to the standard error"
    )


@contextmanager
def row_output(as_json: bool, table: bool = False) -> Iterator[AddRow]:
    """Yield the function that a script calls for each figure; with `table`, the script prints its own table instead."""
    out = sys.stdout
    if as_json:
        with redirect_stdout(sys.stderr):
            yield lambda **fields: print(json.dumps(asdict(Row(**fields))), file=out, flush=True)
    elif table:
        yield lambda **fields: None
    else:
        yield lambda **fields: print(line(Row(**fields)), flush=True)


def number(value: float) -> str:
    """Format with three significant digits; thousands are whole.

    >>> [number(value) for value in (1234567, 150.4, 61.25, 1.061, 0.35149)]
    ['1,234,567', '150', '61.2', '1.06', '0.351']
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    places = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def figure(row: Row) -> str:
    return f"{number(row.found)} {row.unit}".strip() if row.found is not None else "-"


def bar(row: Row) -> str:
    parts = [("≤", row.at_most), ("≥", row.at_least)]
    return " and ".join(f"{sign} {number(value)}" for sign, value in parts if value is not None)


def line(row: Row) -> str:
    """Format a row for a terminal."""
    found = figure(row) if row.found is not None else "not measured"
    held = f"goal {bar(row)}{'' if row.met is None else ': met' if row.met else ': missed'}" if bar(row) else ""
    floor = f"floor {row.floor}" if row.floor else ""
    name = row.what if row.by == "evalmark" else f"{row.by}, {row.what}"
    return "  ".join(part for part in (f"{name:44}", f"{found:>16}", held, floor, row.note) if part)


VERDICTS = {None: "", True: "met", False: "missed"}


def markdown(rows: list[Row]) -> str:
    """Format the rows of one script as a Markdown table."""
    cells = []
    for row in rows:
        name = row.what if row.by == "evalmark" else f"{row.by}, {row.what}"
        notes = "; ".join(part for part in (row.floor and f"floor {row.floor}", row.note) if part)
        cells.append([name, figure(row), bar(row), VERDICTS[row.met], notes])
    return _table(["what", "measured", "goal", "", "notes"], cells)


def goals_table(rows_by_script: Mapping[str, list[Row]], *, judged: bool) -> str:
    """Format every row that has a bar, of all scripts, as one Markdown table.

    Args:
        rows_by_script: The rows of each script; a tool's figure is shown beside evalmark's for the same work in the same script.
        judged: Whether bars are compared with the figures; not in a short form, which measures too little.
    """
    cells = []
    for script, rows in rows_by_script.items():
        for row in [row for row in rows if bar(row) and row.by == "evalmark"]:
            peers = [f"{peer.by} {figure(peer)}" for peer in rows if peer.by != row.by and peer.what == row.what]
            goal = "" if row.goal is None else f"{'≤' if row.at_least is None else '≥'} {number(row.goal)}"
            verdict = VERDICTS[row.met] if judged else ""
            cells.append([row.what, row.floor, figure(row), "; ".join(peers), bar(row), goal, verdict, script])
    return _table(["work", "floor", "evalmark", "other tools", "bar", "goal", "", "script"], cells)


def _table(heads: list[str], cells: list[list[str]]) -> str:
    lines = [[f" {cell} " if cell else " " for cell in line] for line in (heads, *cells)]
    return "\n".join(f"|{'|'.join(line)}|" for line in (lines[0], ["---"] * len(heads), *lines[1:]))
