"""Which files may be opened at all, and what the data in them is called."""

import errno
import os
import re
import stat
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from .faults import PlacedError, shown

_ELSEWHERE = re.compile(r"^(?:file:|[A-Za-z][A-Za-z0-9+.\-]+://|[A-Za-z]:|\\\\|//)")
_ESCAPED = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
_KINDS = (
    (stat.S_ISDIR, "a folder; name a file in it"),
    (stat.S_ISFIFO, "a pipe; write it to a file first"),
    (stat.S_ISSOCK, "a socket; write what it says to a file first"),
    (stat.S_ISCHR, "a device; name a regular file"),
    (stat.S_ISBLK, "a device; name a regular file"),
)


def regular_file(path: Path) -> Path:
    """The path itself if a regular file stands there; it is looked at, never opened.

    Raises:
        DataError: there is no such file, or it is a folder, a pipe, a socket, a device or a Python file.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise PlacedError(str(path), f"there is no such file{_near(path)}.") from None
    except (OSError, ValueError) as error:
        raise PlacedError(str(path), f"cannot be opened: {_reason(error)}.") from None
    for is_kind, sentence in _KINDS:
        if is_kind(mode):
            raise PlacedError(str(path), f"is {sentence}.")
    if path.suffix == ".py":
        raise PlacedError(str(path), f"is code, and data is wanted; evals in Python run with: pytest --evalmark {path}")
    return path


def what_is(path: Path) -> Literal["file", "folder", "other", "nothing"]:
    """What stands at a path, links followed; a link that leads nowhere is something other.

    Raises:
        DataError: nobody can tell, since a folder on the way may not be entered, or the name is none.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "other" if os.path.lexists(path) else "nothing"
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            return "other"
        raise PlacedError(str(path), f"cannot be looked at: {_reason(error)}.") from None
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _near(path: Path) -> str:
    """What the user may have meant: files beside it with a similar name."""
    try:
        names = [entry.name for entry in os.scandir(path.parent)]
    except (OSError, ValueError):
        return f", nor the folder {shown(str(path.parent), 200)}"
    close = get_close_matches(path.name, names, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(close)}" if close else f" in {path.parent.absolute()}"


def dataset_name(path: Path) -> str:
    """What a dataset in a file is called: the file's name without its endings.

    >>> dataset_name(Path("data/questions.v2.jsonl.gz"))
    'questions.v2'
    """
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return plain.stem


def allowed_path(text: str, folder: Path, cwd: Path) -> Path:
    """The file that a suite in `folder` names: relative to the suite, else to the working directory.

    A suite may come from somebody else, so what it names must be a regular file whose real place,
    links followed, is under one of these two folders.

    Raises:
        DataError: the text is an address, a drive or hides an escape; the file is missing, is no
            regular file or lies elsewhere.
    """
    if _ELSEWHERE.match(text):
        raise PlacedError(shown(text, 200), "is not a relative path; name a file beside the suite.")
    if _ESCAPED.search(text) or any(ord(letter) < 32 for letter in text):
        raise PlacedError(shown(text, 200), "hides characters in its path; write the plain path.")
    first = folder / text
    path = first if _is_there(first) or not _is_there(cwd / text) else cwd / text
    if not _is_under(path, (folder, cwd)):
        raise PlacedError(
            shown(text, 200),
            f"leads out of the suite's folder and of {cwd}; copy the file there, or give it on the command line.",
        )
    return regular_file(path)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long, a folder that may not be entered
        return False


def _is_under(path: Path, roots: tuple[Path, ...]) -> bool:
    try:
        real = Path(os.path.realpath(path))
    except (OSError, ValueError):
        return False
    return any(real.is_relative_to(os.path.realpath(root)) for root in roots)
