"""The job summary of GitHub Actions."""

from collections.abc import Callable, Iterable
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.core.errors import EvalmarkError
from evalmark.core.lazy import LazyModule

from .output import print_error, print_text

if TYPE_CHECKING:
    from evalmark.reports.files import github
else:
    github = LazyModule("evalmark.reports.files.github")

SUMMARY_FILE = "GITHUB_STEP_SUMMARY"


def write_job_summary(written: "Callable[[int], Iterable[str]]") -> None:
    """Write the summary to the file that GitHub names, or to the standard output if it names none."""
    name = environ.get(SUMMARY_FILE)
    if name:
        _append(Path(name), written)
    else:
        print_text("".join(written(github.LIMIT)))


def _append(path: Path, written: "Callable[[int], Iterable[str]]") -> None:
    """Append to the file; earlier content counts towards its size limit.

    Raises:
        EvalmarkError: the file cannot be written.
    """
    try:
        before = b"\n" if path.exists() and path.stat().st_size else b""
        room = github.LIMIT - (path.stat().st_size + len(before) if before else 0)
        text = "".join(written(room)).encode(errors="backslashreplace")
        if not text:
            print_error(f"{path}: full, so the job summary is left out; write it in a step of its own.\n")
            return
        with path.open("ab") as stream:
            stream.write(before + text)
    except OSError as error:
        said = f"{path}: the job summary cannot be written there: {error.strerror or error}."
        raise EvalmarkError(f"{said} Unset {SUMMARY_FILE} to have it printed.") from None
