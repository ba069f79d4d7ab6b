"""What every format gives: rows with their places."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .options import ReadOptions


class DatasetRow(NamedTuple):
    """One row of a file, not yet a case."""

    line: int
    column: int
    """0 unless several rows share the line."""
    value: Any
    """The data, or a `PlacedError`."""


@dataclass(slots=True)
class DatasetFile:
    """One file on its way to rows; a format may learn something about it before the first row."""

    path: Path
    options: ReadOptions
    notes: Callable[[str], None]
    cells: bool = False
    """Rows come from a table of texts, where lists are JSON in a cell."""
    wrapped: bool = False
    """The rows lie in an object with a `config`: there, `output` is the expected answer."""
    unit: str = ""
    """What the number after the colon counts, where it is not lines: `row `."""
    header: dict[str, Any] = field(default_factory=dict)
    answer_is_reference: bool = False
    """`answer` holds the expected answer of rows that bring no other."""
    any_columns: bool = False
    """The rows are not those of a dataset: none of the columns has to be one that a case can be made of, and empty cells
    beyond the header say nothing."""

    @property
    def name(self) -> str:
        """The file as the user wrote it."""
        return str(self.path)

    def place(self, line: int, column: int = 0) -> str:
        """`file:line`, with the column where rows share the line."""
        return f"{self.name}:{self.unit}{line}" + (f":{column}" if column else "")


RowReader = Callable[[DatasetFile], Iterator[DatasetRow]]
