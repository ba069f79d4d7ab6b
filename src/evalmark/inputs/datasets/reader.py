"""Files and Python values into cases."""

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
    """The cases of a file, one by one, in memory for one row at a time.

    A row that cannot be a case comes as a `BadRow` in its place. `notes` is told, in one sentence
    each, what a reader should know: how a column or a word was understood. With `answer_is_reference`
    a column `answer` holds the expected answer, where a row brings no other.

    Raises:
        DataError: nothing of the file can be read: it is missing, no regular file, of an unknown
            format, not in its encoding, or broken in its header or before its first row.
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
    """How a file is read: as its options say, or as its name ends.

    Raises:
        DataError: that is no format evalmark reads.
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
    """Before the first row a fault is raised; after it, it is the last thing that comes."""
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
    """Every fault of a file, or of its first `limit` rows, each with its place; at most 50 and a count."""
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
    """Cases out of Python values: cases as they are, mappings with any usual field names, texts as inputs.

    >>> as_cases(["ping", {"question": "2 + 2?", "reference": "4"}])[1].expected
    '4'

    Raises:
        DataError: some of them cannot be cases; the message names all of these.
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
    """Cases out of Python values, one by one; what cannot be a case comes as a `BadRow`.

    With a `place`, each case has this one, and what is said of a bad row begins with it.

    Raises:
        DataError: the items are one text, mapping or case.
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
