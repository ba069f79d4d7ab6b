"""Reads the tests of a prompt from files into cases."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.case import Case
from evalmark.inputs.datasets.options import BadRow, ReadOptions
from evalmark.inputs.datasets.reader import READERS, format_of
from evalmark.inputs.datasets.rows import DatasetFile, ignore_note
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import local_file, path_kind
from evalmark.inputs.documents.text import read_text

from .case_builder import PromptCaseBuilder
from .row_values import InvalidRowError
from .spec import PromptSpec

Note = Callable[[str], None]
TEST_FILES = ("tests.json", "tests.jsonl", "tests.csv", "tests.yaml", "tests.yml")
"""File names of the tests in a prompt's folder."""


def file_of_tests(spec: PromptSpec) -> Path | None:
    """Return the file with the tests in a prompt's folder; None if there is none.

    Raises:
        ConfigError: There are several, so the choice is ambiguous.
    """
    found = [spec.folder / name for name in TEST_FILES if path_kind(spec.folder / name) != "nothing"]
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise DataError(f"{spec.folder}: {names} both hold tests; remove one, or name the one to run.")
    return found[0] if found else None


def read_tests(path: Path, spec: PromptSpec, notes: Note = ignore_note) -> Iterator[Case | BadRow]:
    """Yield the tests of a prompt in a JSON, JSONL, CSV, TSV or YAML file.

    The input of each case is a mapping of the prompt's inputs; the ground truth is its expected value. The metadata hold the
    `rule` of the test, its number as `ruleid`, `inverse`, `scenario`, `baseline` and `valid` (None if not checked), and all
    other fields of the row under their own names. Tags are `positive`, `negative` or `baseline`. An invalid row is yielded as
    a `BadRow`.

    Raises:
        DataError: Nothing of the file can be read.
    """
    path = Path(path)
    local_file(path)
    options = ReadOptions()
    reader = READERS[format_of(path, options)]
    reading = DatasetFile(path=path, options=options, notes=notes, any_columns=True)
    maker = PromptCaseBuilder(spec=spec, notes=notes)
    started = False
    try:
        for line, column, value in reader(reading):
            started = True
            if isinstance(value, PlacedError):
                yield BadRow(place=value.place, message=value.message)
            else:
                yield _build_case(maker, value, reading.place(line, column))
    except PlacedError as fault:
        if not started:
            raise
        yield BadRow(place=fault.place, message=f"{fault.message} Nothing after this could be read.", last=True)


def read_baseline(path: Path, spec: PromptSpec, notes: Note = ignore_note) -> Iterator[Case | BadRow]:
    """Yield the baseline tests in a text file, separated by lines `===`.

    Raises:
        DataError: The file cannot be read.
    """
    path = Path(path)
    local_file(path)
    maker = PromptCaseBuilder(spec=spec, notes=notes)
    held: list[str] = []
    start = 1
    for number, line in enumerate([*read_text(path).splitlines(), "==="], start=1):
        if line.strip() != "===":
            held.append(line)
            continue
        text = "\n".join(held).strip()
        first = start + next((n for n, text_line in enumerate(held) if text_line.strip()), 0)
        held, start = [], number + 1
        if text:
            yield _build_case(maker, {"testinput": text, "baseline": True}, f"{path}:{first}")


def sample_tests(spec: PromptSpec, notes: Note = ignore_note) -> Iterator[Case | BadRow]:
    """Yield the samples in the prompt's own file as tests."""
    maker = PromptCaseBuilder(spec=spec, notes=notes)
    for sample in spec.prompt.samples:
        row: Mapping[str, Any] = {**sample.rest, **sample.values}
        yield _build_case(maker, row, f"{spec.prompt.file}:{sample.line}")


def _build_case(maker: PromptCaseBuilder, row: Any, place: str) -> Case | BadRow:
    try:
        return maker.build(row, place)
    except InvalidRowError as fault:
        return BadRow(place=place, message=f"{fault}.")
