"""Reports as files: written whole or not at all."""

import os
from pathlib import Path

from evalmark.documents import write_whole
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
    write_whole(file, write(run, summary), "report")
