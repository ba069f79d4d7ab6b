"""Reads, checks and atomically writes the files of a prompt's folder."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import local_file, path_kind
from evalmark.inputs.documents.serialization import json_text
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import read_text
from evalmark.prompts.specs.prompt_tests import file_of_tests
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.specs.statement_files import is_refusal, lines_of

from .stages import BASELINE_TESTS, INPUT_SPEC, INTENT, INVERSE_RULES, RULES, TESTS

STATEMENTS = (INTENT, INPUT_SPEC, RULES, INVERSE_RULES)
"""The stages whose file holds statements."""
RowData = dict[str, Any]


def write_json(path: Path, data: Any) -> None:
    """Write data to a JSON file. Raises as `write_atomically` does."""
    write_atomically(path, [json_text(data)])


def has_content(path: Path) -> bool:
    """Return whether a file has content that a user may want to keep; an empty list of tests has none.

    Raises:
        DataError: It is not a regular file, or cannot be read.
    """
    if path_kind(path) == "nothing":
        return False
    local_file(path)
    return read_text(path).strip() not in ("", "[]")


def with_replaced(rows: Sequence[RowData], old: Sequence[RowData], new: Sequence[RowData]) -> list[RowData]:
    """Return the rows with new rows in place of old ones."""
    by_row = {id(row): one for row, one in zip(old, new, strict=True)}
    return [by_row.get(id(row), row) for row in rows]


def read_statements(path: Path) -> tuple[str, ...]:
    """Return the statements in a text file; empty without a file.

    Raises:
        DataError: It cannot be read, or holds only a refusal.
    """
    if not has_content(path):
        return ()
    found = lines_of(read_text(path))
    if is_refusal(list(found)):
        stage = path.stem.replace("_", "-")
        raise PlacedError(
            f"{path}:1", f"holds {found[0][:60]!r}, a refusal; write the file, or make it with --redo {stage}."
        )
    return found


def read_rows(path: Path) -> list[RowData] | None:
    """Return the rows of a file of tests unchanged; None if it is not a list of objects.

    Raises:
        DataError: It is not JSON.
    """
    found = parse_json(read_text(path), str(path))
    return found if isinstance(found, list) and all(isinstance(row, Mapping) for row in found) else None


def check_files(spec: PromptSpec, redo: Collection[str]) -> None:
    """Raise an error for files that a stage could not use; files of the stages in `redo` are ignored.

    Raises:
        ConfigError: There are such files; the message names all of them.
    """
    if path_kind(spec.folder) not in ("folder", "nothing"):
        raise ConfigError(f"{spec.folder}: the prompt's files need a folder of this name; move this file.")
    statements = [partial(read_statements, spec.folder / stage.file) for stage in STATEMENTS if stage.name not in redo]
    rows = [
        partial(_check_rows, spec.folder / stage.file) for stage in (TESTS, BASELINE_TESTS) if stage.name not in redo
    ]
    checks: list[Callable[[], object]] = [*statements, *rows, partial(_check_test_file, spec, TESTS.name in redo)]
    faults = []
    for check in checks:
        try:
            check()
        except ConfigError as fault:
            faults.append(str(fault))
    if faults:
        raise ConfigError.of(faults)


def _check_rows(path: Path) -> None:
    if has_content(path):
        read_rows(path)


def _check_test_file(spec: PromptSpec, redo: bool) -> None:
    path = file_of_tests(spec)
    if redo and path is not None and path.name != TESTS.file:
        raise ConfigError(
            f"{path}: the tests are in this file, and new ones would be written to {TESTS.file}; move this file first."
        )
