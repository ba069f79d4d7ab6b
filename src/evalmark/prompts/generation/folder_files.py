"""Reads and writes the files of a prompt's folder atomically."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import local_file, path_kind
from evalmark.inputs.documents.serialization import json_text
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import read_text
from evalmark.prompts.specs.statement_files import is_refusal, lines_of

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
