"""Rows of a benchmark: text lines, or JSON for `benchmarks/run`, each with the measured value, the goal and whether it is met."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
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
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal or a figure."""
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


def goal(row: Row) -> str:
    parts = [("≤", row.at_most), ("≥", row.at_least)]
    return " and ".join(f"{sign} {number(value)}" for sign, value in parts if value is not None)


def line(row: Row) -> str:
    """Format a row for a terminal."""
    found = f"{number(row.found)} {row.unit}".strip() if row.found is not None else "not measured"
    held = f"goal {goal(row)}{'' if row.met is None else ': met' if row.met else ': missed'}" if goal(row) else ""
    return "  ".join(part for part in (f"{row.what:44}", f"{found:>16}", held, row.note) if part)


def markdown(rows: list[Row]) -> str:
    """Format rows as a Markdown table."""
    heads = ["| what | measured | goal | | notes |", "|---|---|---|---|---|"]
    verdicts = {None: "", True: "met", False: "missed"}
    return "\n".join(
        heads
        + [
            f"| {row.what} | {f'{number(row.found)} {row.unit}'.strip() if row.found is not None else '-'} "
            f"| {goal(row)} | {verdicts[row.met]} | {row.note} |".replace("|  |", "| |").replace("|  |", "| |")
            for row in rows
        ]
    )
