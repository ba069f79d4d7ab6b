"""Writers of report files by extension, and saving a report atomically."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import Run
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.flip_examples import FlipExample
from evalmark.stats.summary.summary import Summary

from .comparison_html import comparison_as_html
from .comparison_json import comparison_as_json
from .comparison_markdown import comparison_in_markdown
from .junit import as_junit
from .options import DEFAULT_OPTIONS, ReportOptions, Writer
from .run_csv import as_csv
from .run_html import as_html
from .run_json import as_json, as_jsonl
from .run_markdown import as_markdown

WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        ".json": as_json,
        ".jsonl": as_jsonl,
        ".csv": as_csv,
        ".md": as_markdown,
        ".html": as_html,
        ".junit.xml": as_junit,
        ".xml": as_junit,
    }
)
"""Writers by file extension."""

KINDS: Mapping[str, Writer] = MappingProxyType(
    {ending.split(".")[1]: write for ending, write in WRITERS.items() if ending != ".xml"}
)
"""Writers by kind: `html`, `junit` and so on."""


def writer_for(path: Path | str, kind: str | None = None) -> Writer:
    """Return the writer for a file's extension, or for `kind`.

    >>> writer_for("nightly.JUnit.xml").__name__
    'as_junit'

    Raises:
        ConfigError: no report has this extension, or the kind is another one.
    """
    name = Path(path).name.lower()
    expected = None if kind is None else KINDS[kind]
    for ending in sorted(WRITERS, key=len, reverse=True):
        if name.endswith(ending):
            if expected not in (None, WRITERS[ending]):
                raise ConfigError(f"{path}: its extension does not match the format {kind}; leave one of them out.")
            return WRITERS[ending]
    if expected is not None:
        return expected
    raise ConfigError(f"{path}: no report has this file extension. Use one of {' '.join(WRITERS)}.")


COMPARISON_WRITERS: Mapping[str, Callable[..., Iterator[str]]] = MappingProxyType(
    {".json": comparison_as_json, ".md": comparison_in_markdown, ".html": comparison_as_html}
)
"""Writers `write(comparison, pairs=())` by file extension."""


def comparison_writer_for(path: Path | str) -> Callable[..., Iterator[str]]:
    """Return the writer for a file's extension.

    Raises:
        ConfigError: no report of a comparison has this extension.
    """
    ending = Path(path).suffix.lower()
    if ending not in COMPARISON_WRITERS:
        raise ConfigError(
            f"{path}: no report of a comparison has this file extension. Use {', '.join(COMPARISON_WRITERS)}."
        )
    return COMPARISON_WRITERS[ending]


def save(
    run: Run,
    path: str | os.PathLike[str],
    summary: Summary | None = None,
    options: ReportOptions = DEFAULT_OPTIONS,
    kind: str | None = None,
) -> None:
    """Write a run as the report for the file's extension; an older file is replaced only when complete.

    `kind` is the format, such as `html`, of a file without a known extension. JSON, Markdown and HTML include the `comparison`
    of the options.

    Args:
        run: The run.
        path: The file; its extension names the report: `.json`, `.jsonl`, `.csv`, `.md`, `.html`, `.junit.xml`.
        summary: The summary of the run, if it is there already.
        options: What the report contains.
        kind: The format, such as `html`, of a file without a known extension.

    Raises:
        ConfigError: no report has this extension, or the kind is another one.
        EvalmarkError: the file cannot be written; the older one is untouched.

    Example:
        A report that opens from disk::

            save(evaluate(cases, task, ["equals"]), "report.html")
    """
    file = Path(path)
    write = writer_for(file, kind)
    write_atomically(file, write(run, summary, options), "report")


def save_comparison(comparison: Comparison, path: str | os.PathLike[str], pairs: Sequence[FlipExample] = ()) -> None:
    """Write a comparison as the report for the file's extension, with the texts of `pairs`.

    Args:
        comparison: The comparison.
        path: The file; its extension names the report: `.json`, `.md`, `.html`.
        pairs: Cases to show with both outputs.

    Raises:
        ConfigError: no report of a comparison has this extension.
        EvalmarkError: the file cannot be written; the older one is untouched.

    Example:
        A comparison of two runs::

            save_comparison(compare(now, before), "comparison.md")
    """
    file = Path(path)
    write = comparison_writer_for(file)
    write_atomically(file, write(comparison, pairs), "report")
