"""Read cases from files."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from evalmark.core.errors import DataError
from evalmark.core.values.case import Case, content_hash
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import regular_file
from evalmark.inputs.documents.text import known_encoding

from .case_builder import build_cases, without_repeats
from .csv_rows import csv_rows, tsv_rows
from .equal_rows import EqualRows
from .fault_list import FaultList
from .json_rows import json_rows, jsonl_rows
from .options import BadRow, ReadOptions
from .parquet_rows import arrow_rows, parquet_rows
from .rows import DatasetFile, RowReader, ignore_note
from .yaml_rows import yaml_rows

READERS: Mapping[str, RowReader] = {
    "json": json_rows,
    "jsonl": jsonl_rows,
    "csv": csv_rows,
    "tsv": tsv_rows,
    "yaml": yaml_rows,
    "parquet": parquet_rows,
    "arrow": arrow_rows,
}
_ENDINGS = {f".{name}": name for name in READERS} | {".ndjson": "jsonl", ".yml": "yaml", ".feather": "arrow"}
DEFAULT_OPTIONS = ReadOptions()


def read_cases(
    path: Path,
    *,
    options: ReadOptions = DEFAULT_OPTIONS,
    notes: Callable[[str], None] | None = None,
    answer_is_reference: bool = False,
) -> Iterator[Case | BadRow]:
    """Read the cases of a file one by one. A row that is not a valid case is yielded as a `BadRow`.

    Args:
        path: the file.
        options: format, encoding and columns.
        notes: called with remarks for the user, one sentence each, such as how a column was read.
        answer_is_reference: whether a column `answer` holds the expected answer of rows without another one.

    Returns:
        An iterator that holds one row in memory at a time.

    Raises:
        DataError: the file is missing, is not a regular file, has an unknown format or a wrong encoding, or is broken
            before its first row.
    """
    path = Path(path)
    regular_file(path)
    reader = READERS[format_of(path, options)]
    known_encoding(options.encoding, str(path))
    source = DatasetFile(
        path=path,
        options=options,
        notes=without_repeats(notes or ignore_note),
        answer_is_reference=answer_is_reference,
    )
    return build_cases(source, reader)


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
        endings = " ".join(_ENDINGS)
        raise PlacedError(
            str(path), f"the ending {ending!r} is not a known format; the known ones are {endings}, each also with .gz."
        )
    if packed and _ENDINGS[ending] in ("parquet", "arrow"):
        raise PlacedError(str(path), f"{ending[1:].capitalize()} is not read packed; unpack the .gz first.")
    return _ENDINGS[ending]


def _ending(path: Path) -> tuple[str, bool]:
    packed = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if packed else path).suffix.lower(), packed


def check_cases(
    path: Path,
    options: ReadOptions = DEFAULT_OPTIONS,
    limit: int | None = None,
    notes: Callable[[str], None] | None = None,
) -> list[str]:
    """Return the faults of a file, or of its first `limit` rows, each with its place: at most 50, and a count."""
    faults, equal = FaultList(str(path)), EqualRows()
    try:
        for row in islice(read_cases(path, options=options, notes=notes), limit):
            if isinstance(row, BadRow):
                faults.add(row.message, row.place)
            else:
                equal.add(row.id, row.place, content_hash(row))
        if notes is not None and equal.count:
            notes(equal.note(str(path)))
    except DataError as fault:
        faults.add(str(fault))
    return faults.lines()
