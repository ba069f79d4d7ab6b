"""Read the header of a dataset file: its name and configuration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalmark.core.errors import DataError
from evalmark.inputs.documents.files import regular_file

from .json_rows import json_header
from .options import ReadOptions
from .reader import format_of
from .rows import DatasetFile, ignore_note
from .wrapper import open_wrapper
from .yaml_rows import yaml_header

MAX_NAME = 200
"""The most characters of a dataset's name."""
DEFAULT_OPTIONS = ReadOptions()
_HEADERS: Mapping[str, Callable[[DatasetFile], None]] = {"json": json_header, "yaml": yaml_header}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetHeader:
    """The header of a dataset; None for what it does not state."""

    name: str | None = None
    """One line of at most 200 characters."""
    example_outputs: bool | None = None
    """Whether every row has an expected answer (True), or none has (False)."""


EMPTY_HEADER = DatasetHeader()


def read_header(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> DatasetHeader:
    """Read the header of a JSON or YAML file: `{name, config: {example_outputs}}` around the rows.

    Rows are skipped if `config` comes after them in a JSON file. A file that cannot be read has an empty header, since
    `read_cases` reports its faults.
    """
    source = DatasetFile(path=Path(path), options=options, notes=ignore_note)
    try:
        read = _HEADERS.get(format_of(source.path, options))
        if read is None:
            return EMPTY_HEADER
        regular_file(source.path)
        read(source)
        open_wrapper(source)
    except DataError:
        return EMPTY_HEADER
    promised = source.header.get("example_outputs") if source.wrapped else None
    return DatasetHeader(name=_name(source.header.get("name")), example_outputs=promised)


def _name(value: object) -> str | None:
    """Return a name that reports can print on one line, else None."""
    if not isinstance(value, str) or not value.isprintable():
        return None
    name = value.strip()
    return name if 0 < len(name) <= MAX_NAME else None
