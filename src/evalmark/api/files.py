"""Reports as files: written whole or not at all."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from evalmark.errors import EvalmarkError
from evalmark.report import writer_for
from evalmark.stats import Summary
from evalmark.values import Run


def save(run: Run, path: Path, summary: Summary | None = None) -> None:
    """Write a run as the report that the file's ending asks for; an older file stays until the new one is whole.

    Raises:
        ConfigError: no report has this ending.
        EvalmarkError: the file cannot be written; the older one is untouched.
    """
    write = writer_for(path)
    write_whole(path, write(run, summary))


def write_whole(path: Path, chunks: Iterable[str]) -> None:
    """Write text to a file by way of a temporary neighbour, synced and then renamed."""
    try:
        if path.exists() and not path.is_file():  # a device or a pipe has no neighbour to rename
            with path.open("w", encoding="utf-8", newline="") as stream:
                stream.writelines(chunks)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
                stream.writelines(chunks)
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise EvalmarkError(f"{path}: the report cannot be written: {error.strerror or error}.") from error
