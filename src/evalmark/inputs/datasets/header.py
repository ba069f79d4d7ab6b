"""What the file of a dataset says of itself, beside its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalmark.core.errors import DataError
from evalmark.inputs.documents.files import regular_file

from .json_rows import json_header
from .options import ReadOptions
from .reader import format_of
from .rows import DatasetFile
from .wrapper import open_wrapper
from .yaml_rows import yaml_header

MAX_NAME = 200
"""Characters that a dataset's name may have."""
DEFAULT_OPTIONS = ReadOptions()
_HEADERS: Mapping[str, Callable[[DatasetFile], None]] = {"json": json_header, "yaml": yaml_header}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetHeader:
    """What a dataset says of itself; None where it does not say."""

    name: str | None = None
    """One line of at most 200 characters."""
    example_outputs: bool | None = None
    """Whether every row has an expected answer, or none has."""


EMPTY_HEADER = DatasetHeader()


def read_header(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> DatasetHeader:
    """The header of a dataset: `{name, config: {example_outputs}}` around the rows of a JSON or YAML file.

    Its rows are not read, but passed over where a JSON file has its `config` behind them. A file that
    cannot be read says nothing: what is wrong with it is for `read_cases` to say.
    """
    source = DatasetFile(path=Path(path), options=options, notes=_ignore_note)
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


def _name(said: object) -> str | None:
    """A name that a report can print on one line."""
    if not isinstance(said, str) or not said.isprintable():
        return None
    name = said.strip()
    return name if 0 < len(name) <= MAX_NAME else None


def _ignore_note(note: str) -> None:
    """Notes are heard when the rows are read."""
