"""Read the rows of exports: JSON, JSONL and CSV files in the shapes that tools write them."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.inputs.documents.errors import PlacedError

from .lenient_json import lenient_rows, parse_lenient_json, read_lenient_json
from .tables import Notes, read_rows

Data = dict[str, Any]
PlacedRow = tuple[Data, str]
LISTS = ("data", "items", "examples", "events", "rows", "samples", "results", "runs", "traces", "goldens")
"""The keys under which tools put the list of rows."""
_OTHERS: Mapping[str, frozenset[str]] = {
    "inspect": frozenset(("eval", "samples", "version")),
    "promptfoo": frozenset(("results", "config", "evalId")),
    "otlp": frozenset(("resourceSpans",)),
}
"""Keys by which the files of tools that have an importer of their own are known."""
ENDINGS = (".json", ".jsonl", ".ndjson", ".csv")
_MAX_CELL = 1 << 20
"""The most characters of a cell that is read as a list or object."""


def export_rows(path: Path, notes: Notes, texts: tuple[str, ...] = ()) -> list[PlacedRow]:
    """Read the rows of one file.

    JSON holds a list of objects, an object with the list (also one level deeper), or, as pandas writes it, an object with
    a column each. Cells of CSV that hold JSON, or a list as Python prints it, become lists and objects.

    Args:
        path: the file.
        notes: called, with the place, for every row that does not fit the header of a table.
        texts: the columns of a table that stay text, whatever they hold; a name that ends in a dot is a prefix.

    Raises:
        DataError: the file cannot be read, or holds no rows.
    """
    ending = path.suffix.lower()
    if ending == ".csv":
        return [(_parsed(row.cells, texts), row.place) for row in read_rows(path, (), notes)]
    if ending in (".jsonl", ".ndjson"):
        return list(lenient_rows(path))
    return rows_in(read_lenient_json(path), str(path))


def _parsed(cells: Mapping[str, Any], texts: tuple[str, ...]) -> Data:
    prefixes = tuple(name for name in texts if name.endswith("."))
    is_text = {name for name in cells if name in texts or (prefixes and name.startswith(prefixes))}
    return {name: (cell or None) if name in is_text else cell_value(cell) for name, cell in cells.items()}


def rows_in(data: Any, place: str) -> list[PlacedRow]:
    """Return the rows of a JSON document.

    Raises:
        DataError: it holds no list of objects.
    """
    if isinstance(data, dict) and (other := next((name for name, keys in _OTHERS.items() if keys <= data.keys()), "")):
        raise PlacedError(place, f"is a file of another tool; import it with: evalmark import {other}")
    rows = _list_in(data)
    if (
        rows is None
        and isinstance(data, dict)
        and data
        and all(isinstance(cells, (dict, list)) for cells in data.values())
    ):
        rows = _of_columns(data)
    if rows is None:
        raise PlacedError(
            place, f"holds no rows: neither a list, nor an object with one under {', '.join(LISTS[:6])}, …."
        )
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise PlacedError(f"{place}: [{number}]", "the row is not an object.")
    return [(row, f"{place}: [{number}]") for number, row in enumerate(rows)]


def _list_in(data: Any, depth: int = 2) -> list[Any] | None:
    if isinstance(data, list):
        return data
    if not isinstance(data, dict) or not depth:
        return None
    return next((rows for key in LISTS if (rows := _list_in(data.get(key), depth - 1)) is not None), None)


def _of_columns(data: Mapping[str, Any]) -> list[Data] | None:
    """Turn columns into rows; None if they are of different lengths."""
    columns = {name: list(cells.values()) if isinstance(cells, dict) else cells for name, cells in data.items()}
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) != 1:
        return None
    return [{name: cells[number] for name, cells in columns.items()} for number in range(lengths.pop())]


def cell_value(cell: Any) -> Any:
    """Return the list or object in a cell of a table; other cells are texts, and an empty one is None."""
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    if not text:
        return None
    if text[0] + text[-1] not in ("[]", "{}") or len(text) > _MAX_CELL:
        return cell
    try:
        return parse_lenient_json(text, "")
    except DataError:
        return _python_value(text, cell)


def _python_value(text: str, cell: str) -> Any:
    """Return the value of a literal of Python, which pandas writes for lists; the text if it is none."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return cell
    return value if _is_plain(value) else cell


def _is_plain(value: Any, depth: int = 20) -> bool:
    if isinstance(value, (list, dict)) and depth:
        items: Sequence[Any] = [*value, *value.values()] if isinstance(value, dict) else value
        return all(_is_plain(item, depth - 1) for item in items)
    return value is None or isinstance(value, (str, int, float, bool))


def number_in(value: Any) -> float | None:
    """Return the number in a cell; None if it holds something else.

    >>> number_in("0.5"), number_in(1), number_in("high"), number_in(True)
    (0.5, 1.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None
