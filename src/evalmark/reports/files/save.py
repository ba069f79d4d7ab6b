"""Reports as files: written whole or not at all."""

import os
from collections.abc import Sequence
from pathlib import Path

from evalmark.core.values.run import Run
from evalmark.inputs.documents.whole import write_whole
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.flip_examples import FlipExample
from evalmark.stats.summary.summary import Summary

from .compared_writers import comparison_writer_for
from .options import PLAIN, Options
from .writers import writer_for


def save(
    run: Run,
    path: str | os.PathLike[str],
    summary: Summary | None = None,
    options: Options = PLAIN,
    kind: str | None = None,
) -> None:
    """Write a run as the report that the file's ending asks for; an older file stays until the new one is whole.

    `kind` is a word such as `html`, for a file whose ending says nothing. JSON, Markdown and HTML also say how the run
    compares with an earlier one, where the options hold a `comparison`.

    Raises:
        ConfigError: no report has this ending, or the kind is another one.
        EvalmarkError: the file cannot be written; the older one is untouched.
    """
    file = Path(path)
    write = writer_for(file, kind)
    write_whole(file, write(run, summary, options), "report")


def save_comparison(found: Comparison, path: str | os.PathLike[str], pairs: Sequence[FlipExample] = ()) -> None:
    """Write a comparison as the report that the file's ending asks for, with the texts of `pairs`.

    Raises:
        ConfigError: no report of a comparison has this ending.
        EvalmarkError: the file cannot be written; the older one is untouched.
    """
    file = Path(path)
    write = comparison_writer_for(file)
    write_whole(file, write(found, pairs), "report")
