"""Read published CSV files of other tools; rows that do not fit the header are noted, never shifted."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from evalmark.core.text import count
from evalmark.inputs.documents.document import load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.text import MAX_ROW, read_text

Notes = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRow:
    """One row of a table, or one object of a list."""

    place: str
    """`file:line`."""
    cells: Mapping[str, Any]
    """By column; a cell that is missing at the end of a short row is missing here."""

    def text(self, column: str) -> str:
        """Return a cell as stripped text; empty if there is none."""
        value = self.cells.get(column)
        return "" if value is None else str(value).strip()


def read_rows(path: Path, needed: Sequence[str], notes: Notes) -> list[RawRow]:
    """Read the rows of a CSV file with a header, or of a `.json` file with a list of objects.

    Args:
        path: the file.
        needed: the required columns; rows without a value for one are left out.
        notes: called, with the place, for every row that does not fit the header.

    Raises:
        DataError: the file cannot be read, or lacks a required column.
    """
    rows = _json_rows(path) if path.suffix == ".json" else _csv_rows(path, needed, notes)
    complete = []
    for row in rows:
        missing = [name for name in needed if row.cells.get(name) is None]
        if missing:
            notes(f"{row.place}: the row has no `{missing[0]}` and is left out.")
        else:
            complete.append(row)
    return complete


def _json_rows(path: Path) -> Iterator[RawRow]:
    document = load_document(path)
    if not isinstance(document.data, list):
        raise PlacedError(str(path), "is not a list; a list of objects was expected.")
    for number, cells in enumerate(document.data):
        place = document.place_of((number,))
        if not isinstance(cells, dict):
            raise PlacedError(place, f"item {number + 1} of the list is not an object.")
        yield RawRow(place=place, cells=cells)


def _csv_rows(path: Path, needed: Sequence[str], notes: Notes) -> Iterator[RawRow]:
    if csv.field_size_limit() < MAX_ROW:
        csv.field_size_limit(MAX_ROW)  # the limit applies to the whole process, so it is never lowered
    text = read_text(path)
    head = next((line for line in text.splitlines() if line.strip()), "")
    spaced = 0 < head.count(",") == head.count(", ")
    header: list[str] = []
    blank = 0
    for line, cells in _numbered(text, path, spaced, notes):
        if not any(cell.strip() for cell in cells):
            blank += 1
        elif not header:
            header = _checked([cell.strip() for cell in cells], f"{path}:{line}", needed)
        elif (row := _row_under_header(f"{path}:{line}", header, cells, notes)) is not None:
            yield row
    if not header:
        raise PlacedError(str(path), "is empty; a header with the names of the columns was expected.")
    if blank:
        notes(f"{path}: {count(blank, 'blank line')} left out.")


def _numbered(text: str, path: Path, spaced: bool, notes: Notes) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with its start line; rows with unclosed quotes are noted and left out."""
    reader = csv.reader(StringIO(text, newline=""), strict=True, skipinitialspace=spaced)
    while True:
        line = reader.line_num + 1
        try:
            yield line, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            place = f"{path}:{line}"
            notes(f"{place}: the row is left out, because its quotes are not closed or not doubled ({error}).")


def _checked(header: list[str], place: str, needed: Sequence[str]) -> list[str]:
    twice = [name for name in header if header.count(name) > 1]
    missing = [name for name in needed if name not in header]
    if twice:
        raise PlacedError(place, f"the column {twice[0]!r} occurs twice in the header; rename one of them.")
    if missing:
        raise PlacedError(place, f"there is no column {missing[0]!r} among {', '.join(header)}.")
    return header


def _row_under_header(place: str, header: Sequence[str], cells: Sequence[str], notes: Notes) -> RawRow | None:
    """Make the row; None if it has more cells than the header."""
    summary = f"{place}: {count(len(cells), 'cell')} under a header of {len(header)}"
    more = cells[len(header) :]
    if any(cell.strip() for cell in more):
        notes(
            f"{summary}; the row is left out because {more[0][:30]!r} belongs to no column. Quote texts that hold commas."
        )
        return None
    if more:
        notes(f"{summary}; the additional cells are empty.")
    elif len(cells) < len(header):
        notes(f"{summary}; `{header[len(cells)]}` and the following columns are unknown.")
    return RawRow(place=place, cells=dict(zip(header, cells, strict=False)))
