"""Find files in folders of other tools, without following links out of them."""

import os
from collections.abc import Sequence
from pathlib import Path

from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import path_kind, regular_file


def folder_of(path: Path) -> Path:
    """Return a folder unchanged, and the folder of a file.

    Raises:
        DataError: the kind of the path is unknown.
    """
    return path if path_kind(path) == "folder" else path.parent


def files_of(path: Path, endings: Sequence[str], *, below: bool = False) -> list[Path]:
    """Return a file, or the files in a folder with one of the endings, sorted by name; with `below`, recursively.

    Raises:
        DataError: the path does not exist or cannot be read, or a file is a link that leads out of the folder.
    """
    if path_kind(path) != "folder":
        return [regular_file(path)]
    draft = (name for name in _names(path, below) if name.lower().endswith(tuple(endings)))
    return [found for name in draft if (found := file_in(path, name)) is not None]


def file_in(folder: Path, name: str) -> Path | None:
    """Return the regular file of a name in a folder; None if there is none.

    Raises:
        DataError: it is a link that leads out of the folder (the folder's author could have any file read).
    """
    path = folder / name
    if path_kind(path) != "file":
        return None
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise PlacedError(str(path), "is a link that leads out of the folder; put a copy of the file in its place.")
    return path


def _names(folder: Path, below: bool) -> list[str]:
    try:
        return sorted(_walked(folder)) if below else sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise PlacedError(str(error.filename or folder), f"cannot be looked into: {error.strerror or error}.") from None


def _walked(folder: Path) -> list[str]:
    def fail(error: OSError) -> None:
        raise error

    steps = os.walk(folder, onerror=fail)
    return [str((Path(at) / name).relative_to(folder)) for at, _, names in steps for name in names]
