"""Read cases from files and Python values."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.case import Case
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import regular_file
from evalmark.inputs.documents.text import known_encoding

from .case_builder import CaseBuilder, RowError
from .csv_rows import csv_rows, tsv_rows
from .fault_list import FaultList
from .json_rows import json_rows, jsonl_rows
from .options import BadRow, ReadOptions
from .parquet_rows import parquet_rows
from .rows import DatasetFile, RowReader
from .yaml_rows import yaml_rows

READERS: Mapping[str, RowReader] = {
    "json": json_rows,
    "jsonl": jsonl_rows,
    "csv": csv_rows,
    "tsv": tsv_rows,
    "yaml": yaml_rows,
    "parquet": parquet_rows,
}
_ENDINGS = {f".{name}": name for name in READERS} | {".ndjson": "jsonl", ".yml": "yaml"}
DEFAULT_OPTIONS = ReadOptions()


def _ignore_note(note: str) -> None:
    return None


def read_cases(
    path: Path,
    *,
    options: ReadOptions = DEFAULT_OPTIONS,
    notes: Callable[[str], None] | None = None,
    answer_is_reference: bool = False,
) -> Iterator[Case | BadRow]:
    """Read the cases of a file one by one. A row that is no valid case is yielded as a `BadRow`.

    Args:
        path: the file.
        options: format, encoding and columns.
        notes: called with remarks for the user, one sentence each, such as how a column was read.
        answer_is_reference: whether a column `answer` holds the expected answer of rows without another one.

    Returns:
        An iterator that holds one row in memory at a time.

    Raises:
        DataError: the file is missing, is no regular file, has an unknown format or a wrong encoding, or is broken
            before its first row.
    """
    path = Path(path)
    regular_file(path)
    reader = READERS[format_of(path, options)]
    known_encoding(options.encoding, str(path))
    source = DatasetFile(
        path=path,
        options=options,
        notes=_without_repeats(notes or _ignore_note),
        answer_is_reference=answer_is_reference,
    )
    return _cases(source, reader)


def format_of(path: Path, options: ReadOptions) -> str:
    """Return the format of a file, from its options or its ending.

    Raises:
        DataError: the format is unknown.
    """
    if options.format is not None:
        if options.format not in READERS:
            raise PlacedError(str(path), f"there is no format {options.format!r}; it is one of {', '.join(READERS)}.")
        return options.format
    ending, packed = _ending(path)
    if ending not in _ENDINGS:
        known = " ".join(_ENDINGS)
        raise PlacedError(str(path), f"the ending {ending!r} says no format; known are {known}, each also with .gz.")
    if packed and ending == ".parquet":
        raise PlacedError(str(path), "Parquet is compressed in itself; unpack the .gz first.")
    return _ENDINGS[ending]


def _ending(path: Path) -> tuple[str, bool]:
    packed = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if packed else path).suffix.lower(), packed


def _without_repeats(notes: Callable[[str], None]) -> Callable[[str], None]:
    said: set[str] = set()

    def note(sentence: str) -> None:
        if sentence not in said:
            said.add(sentence)
            notes(sentence)

    return note


def _cases(source: DatasetFile, reader: RowReader) -> Iterator[Case | BadRow]:
    """Yield cases and bad rows. A fault before the first row is raised; a later one is yielded as the last row."""
    started = False
    maker: CaseBuilder | None = None
    try:
        for line, column, value in reader(source):
            if maker is None:
                maker = CaseBuilder.for_file(source)
            started = True
            if isinstance(value, PlacedError):
                yield BadRow(place=value.place, message=value.message)
                continue
            try:
                case = maker.build(value, line, column)
            except RowError as fault:
                yield BadRow(place=source.place(line, column), message=str(fault))
                continue
            yield case
    except PlacedError as fault:
        if not started:
            raise
        yield BadRow(place=fault.place, message=f"{fault.message} Nothing after this could be read.", last=True)


def check_cases(
    path: Path,
    options: ReadOptions = DEFAULT_OPTIONS,
    limit: int | None = None,
    notes: Callable[[str], None] | None = None,
) -> list[str]:
    """Return the faults of a file, or of its first `limit` rows, each with its place: at most 50, and a count."""
    faults = FaultList(str(path))
    try:
        for row in islice(read_cases(path, options=options, notes=notes), limit):
            if isinstance(row, BadRow):
                faults.add(row.message, row.place)
    except DataError as fault:
        faults.add(str(fault))
    return faults.lines()


def as_cases(
    items: Iterable[Case | Mapping[str, Any] | str],
    *,
    notes: Callable[[str], None] | None = None,
    answer_is_reference: bool = False,
) -> list[Case]:
    """Make cases from Python values: cases, mappings with any usual field names, and texts (inputs).

    Args:
        items: the values.
        notes: called with remarks for the user, one sentence each.
        answer_is_reference: whether `answer` holds the expected answer of mappings without another one.

    >>> as_cases(["ping", {"question": "2 + 2?", "reference": "4"}])[1].expected
    '4'

    Raises:
        DataError: some items are no valid cases; the message names all of them.
    """
    cases: list[Case] = []
    faults = FaultList()
    for row in iter_cases(items, notes=notes, answer_is_reference=answer_is_reference):
        if isinstance(row, Case):
            cases.append(row)
        else:
            faults.add(row.message, row.place)
    if found := faults.lines():
        raise DataError("\n".join(found))
    return cases


def iter_cases(
    items: Iterable[Case | Mapping[str, Any] | str],
    place: str = "",
    *,
    notes: Callable[[str], None] | None = None,
    answer_is_reference: bool = False,
) -> Iterator[Case | BadRow]:
    """Make cases from Python values one by one; an invalid item is yielded as a `BadRow`.

    Args:
        items: cases, mappings or texts.
        place: the place of each case and the beginning of each fault; empty: the number of the item.
        notes: called with remarks for the user, one sentence each.
        answer_is_reference: whether `answer` holds the expected answer of mappings without another one.

    Raises:
        DataError: `items` is a single text, mapping or case.
    """
    if isinstance(items, (str, Mapping, Case)):
        raise DataError(f"cases come as a list of cases, mappings or texts, not as one {type(items).__name__}.")
    maker = CaseBuilder(
        _item_place, ReadOptions(), _without_repeats(notes or _ignore_note), answer_is_reference=answer_is_reference
    )
    for number, item in enumerate(items, start=1):
        try:
            case = maker.build(item, number)
        except RowError as fault:
            where = f"{place}: {_item_place(number)}" if place else _item_place(number)
            yield BadRow(place=where, message=str(fault))
        else:
            yield replace(case, place=place) if place else case


def _item_place(number: int, column: int = 0) -> str:
    return f"item {number}"
