"""Reports as files: written whole or not at all."""

import os
from collections.abc import Sequence
from pathlib import Path

from evalmark.comparison import Comparison, Pair
from evalmark.documents import write_whole
from evalmark.report import Options, comparison_writer_for, writer_for
from evalmark.stats import Summary
from evalmark.values import Run


def save(
    run: Run, path: str | os.PathLike[str], summary: Summary | None = None, comparison: Comparison | None = None
) -> None:
    """Write a run as the report that the file's ending asks for; an older file stays until the new one is whole.

    JSON, Markdown and HTML also say how it compares with an earlier one, where there is a `comparison`.

    Raises:
        ConfigError: no report has this ending.
        EvalmarkError: the file cannot be written; the older one is untouched.
    """
    file = Path(path)
    write = writer_for(file)
    write_whole(file, write(run, summary, Options(comparison=comparison)), "report")


def save_comparison(found: Comparison, path: str | os.PathLike[str], pairs: Sequence[Pair] = ()) -> None:
    """Write a comparison as the report that the file's ending asks for, with the texts of `pairs`.

    Raises:
        ConfigError: no report of a comparison has this ending.
        EvalmarkError: the file cannot be written; the older one is untouched.
    """
    file = Path(path)
    write = comparison_writer_for(file)
    write_whole(file, write(found, pairs), "report")
