"""Read rows of CSV and TSV files."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from evalmark.core.lazy import LazyModule
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.text import MAX_ROW, text_chunks

from .fields import can_be_case, field_of, no_input_message
from .rows import DatasetFile, DatasetRow

if TYPE_CHECKING:
    import csv

    from . import promptfoo
else:
    csv = LazyModule("csv")
    promptfoo = LazyModule("evalmark.inputs.datasets.promptfoo")

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_DELIMITERS = (",", ";", "\t", "|")


def csv_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    """Yield the rows of a CSV file with a header. Cells are texts; an empty cell is a missing value, or an empty answer."""
    source.cells = True
    return _rows(source, None)


def tsv_rows(source: DatasetFile) -> Iterator[DatasetRow]:
    """Yield the rows of a TSV file with a header."""
    source.cells = True
    return _rows(source, "\t")


def _rows(source: DatasetFile, delimiter: str | None) -> Iterator[DatasetRow]:
    delimiter = source.options.delimiter or delimiter or _sniffed(source)
    table = _Table(source, delimiter, _spaced(source, delimiter))
    header = _checked_header(source, next(table, None))
    translate: Callable[[dict[str, Any]], Any] = _unchanged
    if any(name.startswith("__") for name in header) and not source.any_columns:
        translate = promptfoo.PromptfooColumns(header, source.notes)
    answers = {name for name in header if field_of(name, source.options) == "answer"}
    if source.answer_is_reference:  # an empty cell means that no answer is known
        answers = set()
    for cells in table:
        if not any(cells):
            continue
        if source.any_columns and not any(cells[len(header) :]):
            del cells[len(header) :]
        if len(cells) != len(header):
            yield DatasetRow(table.line, 0, _ragged(source, table.line, cells, header))
            continue
        # An empty cell of the answer column is an empty output of the system under test.
        row = {name: cell if cell or name in answers else None for name, cell in zip(header, cells, strict=True)}
        try:
            yield DatasetRow(table.line, 0, translate(row))
        except ValueError as fault:
            yield DatasetRow(table.line, 0, PlacedError(source.place(table.line), f"{fault}."))


def _unchanged(row: dict[str, Any]) -> dict[str, Any]:
    return row


class _Table:
    """The rows of a table, the line in which each starts, and faults that name the line."""

    def __init__(self, source: DatasetFile, delimiter: str, spaced: bool) -> None:
        if csv.field_size_limit() < MAX_ROW:
            csv.field_size_limit(MAX_ROW)  # the limit is process-wide; it is only ever raised
        self._source = source
        self._quirks = (delimiter, spaced)
        self._cells = csv.reader(
            _lines(source), delimiter=delimiter, quotechar='"', strict=True, skipinitialspace=spaced
        )
        self.line = 0

    def __iter__(self) -> "_Table":
        return self

    def __next__(self) -> list[str]:
        self.line = self._cells.line_num + 1
        try:
            return next(self._cells)
        except csv.Error as error:
            raise self._fault(str(error)) from None

    def _fault(self, error_text: str) -> PlacedError:
        delimiter, spaced = self._quirks
        rest = islice(_lines(self._source), self.line - 1, None)
        opened, closed = _last_quote(rest, self.line, delimiter, spaced)
        if closed is None:
            size = f" ({error_text})" if "limit" in error_text else ""
            return PlacedError(
                self._source.place(opened),
                f"the quote that opens in this line is never closed{size}; close or double it.",
            )
        return PlacedError(
            self._source.place(opened),
            f"the quote that opens in this line closes in line {closed} in the middle of a cell; "
            "close it, or double the quotes that belong to the text.",
        )


def _last_quote(lines: Iterable[str], line: int, delimiter: str, spaced: bool) -> tuple[int, int | None]:
    """Find the faulty quote of the row that starts here: the line where it opens, and the line where it closes wrongly."""
    opened, quoted, at_start = line, False, True
    for number, text in enumerate(lines, start=line):
        at = 0
        while at < len(text):
            if quoted:
                at = text.find('"', at)
                if at < 0:
                    break
                if text[at + 1 : at + 2] == '"':
                    at += 2
                    continue
                quoted = False
                if text[at + 1 : at + 2] not in (delimiter, "\r", "\n", ""):
                    return opened, number
            elif text[at] == '"' and at_start:
                opened, quoted = number, True
            at_start = not quoted and (text[at] in (delimiter, "\r", "\n") or (spaced and at_start and text[at] == " "))
            at += 1
    return opened, None


def _lines(source: DatasetFile) -> Iterator[str]:
    r"""Yield the lines with their ends, which may be \n, \r\n or \r."""
    held, number = list[str](), 1
    for chunk in text_chunks(source.path, source.options.encoding):
        if held and held[-1].endswith("\r") and chunk.startswith("\n"):
            held.append("\n")
            chunk = chunk[1:]
        lines = _LINE.findall(chunk)
        if held and held[-1].endswith(("\r", "\n")):
            lines.insert(0, "")
        if not lines:
            continue
        held.append(lines[0])
        if len(lines) > 1:
            yield "".join(held)
            yield from lines[1:-1]
            number += len(lines) - 1
            held = lines[-1:]
        if sum(map(len, held)) > MAX_ROW:
            raise PlacedError(source.place(number), f"the line is longer than {MAX_ROW >> 20} MiB; split it.")
    if held:
        yield "".join(held)


def _header_line(source: DatasetFile) -> str:
    return next((line for line in _lines(source) if line.strip()), "").rstrip("\r\n")


def _sniffed(source: DatasetFile) -> str:
    """Choose the delimiter with which most column names are known, or which splits the header at all."""
    line = _header_line(source)

    def worth(delimiter: str) -> tuple[int, bool, int]:
        names = [name.strip().strip('"') for name in line.split(delimiter)]
        known = sum(field_of(name, source.options) is not None for name in names)
        return known, delimiter == "," and len(names) > 1, len(names)

    best = max(_DELIMITERS, key=worth)
    if best == "," or best not in line:
        return ","
    shown = "a tab" if best == "\t" else f"'{best}'"
    source.notes(f"{source.name}: the cells are read with {shown} as the delimiter, as in the header.")
    return best


def _spaced(source: DatasetFile, delimiter: str) -> bool:
    """Tell whether the header has a space after each delimiter; such spaces are not part of the cells."""
    line = _header_line(source)
    count = line.count(delimiter)
    if not count or line.count(delimiter + " ") < count:
        return False
    source.notes(f"{source.name}: spaces after each {delimiter!r} are removed, since the header has them too.")
    return True


def _checked_header(source: DatasetFile, cells: Sequence[str] | None) -> list[str]:
    if cells is None or not any(cells):
        raise PlacedError(source.name, "is empty; a header with the names of the columns was expected.")
    header = [cell.strip() for cell in cells]
    for number, name in enumerate(header, start=1):
        if not name:
            header[number - 1] = f"column {number}"
            source.notes(
                f"{source.place(1)}: column {number} has no name; it goes to the metadata as 'column {number}'."
            )
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise PlacedError(source.place(1), f"the column {twice[0]!r} occurs twice in the header; rename one of them.")
    check_columns(source, header)
    return header


def check_columns(source: DatasetFile, header: Sequence[str]) -> None:
    """Check that every column the user named exists, and that the columns can make a case.

    Raises:
        DataError: a column is missing.
    """
    missing = [column for column in source.options.columns.values() if column not in header]
    if missing:
        names = ", ".join(header)
        raise PlacedError(source.place(1), f"there is no column {missing[0]!r} among {names}.")
    is_translated = any(column.startswith("__") for column in header)
    if not (is_translated or source.any_columns) and not can_be_case(header, source.options):
        raise PlacedError(source.place(1), f"{no_input_message(header)}.")


def _ragged(source: DatasetFile, line: int, cells: Sequence[str], header: Sequence[str]) -> PlacedError:
    finding = f"{len(cells)} cells under a header of {len(header)}"
    if len(cells) < len(header):
        advice = f"no cell for {header[len(cells)]!r}"
    else:
        advice = f"quote the text around {cells[len(header)][:20]!r} if it holds the delimiter"
    return PlacedError(source.place(line), f"{finding}: {advice}.")
