"""What the file of a dataset says of itself, beside its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalmark.core.errors import DataError
from evalmark.inputs.documents.files import regular_file

from .json_rows import json_header
from .options import ReadOptions
from .read import format_of
from .rows import Reading
from .wrapper import open_wrapper
from .yaml_rows import yaml_header

MAX_NAME = 200
"""Characters that a dataset's name may have."""
AS_IT_IS = ReadOptions()
_HEADERS: Mapping[str, Callable[[Reading], None]] = {"json": json_header, "yaml": yaml_header}


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a dataset says of itself; None where it does not say."""

    name: str | None = None
    """One line of at most 200 characters."""
    example_outputs: bool | None = None
    """Whether every row has an expected answer, or none has."""


NOTHING_SAID = Header()


def read_header(path: Path, options: ReadOptions = AS_IT_IS) -> Header:
    """The header of a dataset: `{name, config: {example_outputs}}` around the rows of a JSON or YAML file.

    Its rows are not read, but passed over where a JSON file has its `config` behind them. A file that
    cannot be read says nothing: what is wrong with it is for `read_cases` to say.
    """
    reading = Reading(path=Path(path), options=options, notes=_unheard)
    try:
        read = _HEADERS.get(format_of(reading.path, options))
        if read is None:
            return NOTHING_SAID
        regular_file(reading.path)
        read(reading)
        open_wrapper(reading)
    except DataError:
        return NOTHING_SAID
    promised = reading.header.get("example_outputs") if reading.wrapped else None
    return Header(name=_name(reading.header.get("name")), example_outputs=promised)


def _name(said: object) -> str | None:
    """A name that a report can print on one line."""
    if not isinstance(said, str) or not said.isprintable():
        return None
    name = said.strip()
    return name if 0 < len(name) <= MAX_NAME else None


def _unheard(note: str) -> None:
    """Notes are heard when the rows are read."""
