"""Reports as files: written whole or not at all."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from evalmark.errors import EvalmarkError
from evalmark.report import writer_for
from evalmark.stats import Summary
from evalmark.values import Run


def save(run: Run, path: str | os.PathLike[str], summary: Summary | None = None) -> None:
    """Write a run as the report that the file's ending asks for; an older file stays until the new one is whole.

    Raises:
        ConfigError: no report has this ending.
        EvalmarkError: the file cannot be written; the older one is untouched.
    """
    file = Path(path)
    write = writer_for(file)
    write_whole(file, write(run, summary))


def write_whole(path: Path, chunks: Iterable[str]) -> None:
    """Write text to a file by way of a temporary neighbour, synced and then renamed."""
    try:
        if path.exists() and not path.is_file():  # a device or a pipe has no neighbour to rename
            with path.open("w", encoding="utf-8", newline="") as stream:
                stream.writelines(chunks)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
        try:
            # Who may read it is what the system says of new files: a report is made to be handed on.
            with draft.open("x", encoding="utf-8", errors="backslashreplace", newline="") as stream:
                stream.writelines(chunks)
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise EvalmarkError(f"{path}: the report cannot be written: {error.strerror or error}.") from error
