"""Rows with their places, as every format yields them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .options import ReadOptions


class DatasetRow(NamedTuple):
    """One row of a file, before it becomes a case."""

    line: int
    column: int
    """0 unless several rows share the line."""
    value: Any
    """The data, or a `PlacedError`."""


@dataclass(slots=True)
class DatasetFile:
    """A file that is being read. A format may fill in more about it before its first row."""

    path: Path
    options: ReadOptions
    notes: Callable[[str], None]
    cells: bool = False
    """Whether rows come from a table of texts, where lists are JSON in a cell."""
    wrapped: bool = False
    """Whether the rows are in an object with a `config`, where `output` is the expected answer."""
    unit: str = ""
    """What the number in a place counts, if not lines: `row `."""
    header: dict[str, Any] = field(default_factory=dict)
    answer_is_reference: bool = False
    """Whether `answer` holds the expected answer of rows without another one."""
    any_columns: bool = False
    """Whether the file is not a dataset of cases: any columns are allowed, and empty cells beyond the header are ignored."""

    @property
    def name(self) -> str:
        """The file as the user wrote it."""
        return str(self.path)

    def place(self, line: int, column: int = 0) -> str:
        """Return `file:line`, with the column if rows share the line."""
        return f"{self.name}:{self.unit}{line}" + (f":{column}" if column else "")


RowReader = Callable[[DatasetFile], Iterator[DatasetRow]]


def ignore_note(note: str) -> None:
    """Drop a note; notes are repeated whenever rows are read."""
