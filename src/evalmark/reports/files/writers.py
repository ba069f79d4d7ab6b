"""Which report a file's ending asks for."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from evalmark.core.errors import ConfigError

from .junit import as_junit
from .options import Writer
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
"""Every file report by the ending that asks for it."""

KINDS: Mapping[str, Writer] = MappingProxyType(
    {ending.split(".")[1]: write for ending, write in WRITERS.items() if ending != ".xml"}
)
"""The same by the word for it: `html`, `junit` and so on."""


def writer_for(path: Path | str, kind: str | None = None) -> Writer:
    """The report that a file's ending asks for, or the one of a `kind`, where the ending says nothing else.

    >>> writer_for("nightly.JUnit.xml").__name__
    'as_junit'

    Raises:
        ConfigError: no report has this ending, or the kind is another one.
    """
    name = Path(path).name.lower()
    wanted = None if kind is None else KINDS[kind]
    for ending in sorted(WRITERS, key=len, reverse=True):
        if name.endswith(ending):
            if wanted not in (None, WRITERS[ending]):
                raise ConfigError(f"{path}: its ending asks for another report than {kind}; leave one of them out.")
            return WRITERS[ending]
    if wanted is not None:
        return wanted
    raise ConfigError(f"{path}: no report has this ending. Use one of {' '.join(WRITERS)}.")
