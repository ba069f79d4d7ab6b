"""Which files may be opened, and how datasets in files are named."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from io import BufferedReader
from pathlib import Path
from typing import Literal

from evalmark.core.foreign.allowed_folders import project_roots, real_path

from .errors import PlacedError, excerpt

_NOT_RELATIVE = re.compile(r"^(?:file:|[A-Za-z][A-Za-z0-9+.\-]+://|[A-Za-z]:|\\\\|//)")
_ESCAPED = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
_OPEN_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
_KINDS = (
    (stat.S_ISDIR, "a folder; name a file in it"),
    (stat.S_ISFIFO, "a pipe; write it to a file first"),
    (stat.S_ISSOCK, "a socket; write its data to a file first"),
    (stat.S_ISCHR, "a device; name a regular file"),
    (stat.S_ISBLK, "a device; name a regular file"),
)


def regular_file(path: Path, *, is_code: bool = False) -> Path:
    """Check that a path is a regular file, without opening it, and return the path.

    Args:
        path: the file.
        is_code: whether a Python file is allowed.

    Raises:
        DataError: there is no such file, or it is a folder, a pipe, a socket, a device or an unexpected Python file.
    """
    with _placed_errors(path):
        _refuse_kinds(path, path.stat().st_mode)
    if path.suffix == ".py" and not is_code:
        raise PlacedError(
            str(path), f"this is Python code, not a data file; run evals in Python with: pytest --evalmark {path}"
        )
    return path


def open_file(path: Path) -> BufferedReader:
    """Open a regular file for reading. Every file that data or a user names is opened by this function.

    It does not wait for pipes and does not read devices. The file is checked before and after it is opened, since it
    may be replaced in between.

    Raises:
        DataError: there is no such file, it may not be opened, or it is not a regular file.
    """
    with _placed_errors(path):
        _refuse_kinds(path, path.stat().st_mode)  # opening some devices has side effects
        handle = os.open(path, _OPEN_FLAGS)
    try:
        _refuse_kinds(path, os.fstat(handle).st_mode)
    except PlacedError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


@contextmanager
def _placed_errors(path: Path) -> Iterator[None]:
    """Convert the system's errors about a path to DataErrors."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise PlacedError(str(path), f"there is no such file{_similar_files(path)}") from None
    except (OSError, ValueError) as error:
        raise PlacedError(str(path), f"cannot be opened: {_reason(error)}.") from None


def _refuse_kinds(path: Path, mode: int) -> None:
    for is_kind, sentence in _KINDS:
        if is_kind(mode):
            raise PlacedError(str(path), f"is {sentence}.")


def local_file(path: Path) -> Path:
    """Check a file that was found in a folder, such as the rules in the folder of a prompt, and return its path.

    Raises:
        DataError: it is a link that leads out of the folder, its project and the working directory, or no regular file.
    """
    roots = project_roots((path.parent, Path.cwd()))
    real = real_path(path)
    if real is None or not any(real.is_relative_to(root) for root in roots):
        raise PlacedError(str(path), "is a link that leads out of its project; put a copy of the file in its place.")
    return regular_file(path)


def path_kind(path: Path) -> Literal["file", "folder", "other", "nothing"]:
    """Return the kind of a path, with links resolved; a broken link is `other`.

    Raises:
        DataError: the kind is unknown, since a parent folder may not be entered or the name is invalid.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "other" if os.path.lexists(path) else "nothing"
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            return "other"
        raise PlacedError(str(path), f"cannot be read: {_reason(error)}.") from None
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _similar_files(path: Path) -> str:
    """Suggest files in the same folder with a similar name."""
    try:
        names = [entry.name for entry in os.scandir(path.parent)]
    except (OSError, ValueError):
        return f", nor the folder {excerpt(str(path.parent), 200)}."
    close = get_close_matches(path.name, names, n=3, cutoff=0.75)
    return f"; did you mean {' or '.join(close)}?" if close else f" in {path.parent.absolute()}."


def dataset_name(path: Path) -> str:
    """Return the default name of a dataset: the file's name without its endings.

    >>> dataset_name(Path("data/questions.v2.jsonl.gz"))
    'questions.v2'
    """
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return plain.stem


def allowed_path(text: str, *folders: Path, is_code: bool = False) -> Path:
    """Resolve a file that a suite names, relative to the first of the folders that has it.

    A suite may come from another project, so the file must lie, with links resolved, under one of these folders or their
    projects (below the nearest `pyproject.toml` or `.git`).

    Args:
        text: the path as the suite has it.
        folders: the suite's own folder first.
        is_code: whether a Python file is allowed.

    Raises:
        DataError: the text is a URL, a drive or has escaped characters; or the file is missing, is not a regular file or
            lies elsewhere.
    """
    if _NOT_RELATIVE.match(text):
        raise PlacedError(excerpt(text, 200), "is not a relative path; name a file in the folder of the suite.")
    if _ESCAPED.search(text) or any(ord(letter) < 32 for letter in text):
        raise PlacedError(excerpt(text, 200), "has escaped or control characters; write the plain path.")
    path = next((place for folder in folders if _is_there(place := folder / text)), folders[0] / text)
    real, roots = real_path(path), project_roots(folders)
    if real is None or not any(real.is_relative_to(root) for root in roots):
        raise PlacedError(
            excerpt(text, 200),
            f"lies outside the suite's folder and {', '.join(map(str, roots))}; copy the file there, or give it on the "
            "command line.",
        )
    return regular_file(path, is_code=is_code)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the name is too long, or a folder may not be entered
        return False
