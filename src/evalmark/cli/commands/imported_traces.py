"""Store the traces of an OpenTelemetry file as recorded sessions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.cli.terminal.output import print_line, print_store_note
from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.storage.store.store import open_store
from evalmark.tracing.otlp_files import read_traces

if TYPE_CHECKING:
    from evalmark.core.settings import Settings

FORMAT = "otlp"
_GROUP = 1_000
"""Spans stored in one transaction."""


def import_traces(paths: Sequence[Path], project: str | None, settings: "Settings", *, flags: Sequence[str]) -> None:
    """Read all files, then store their sessions; storing a file again adds nothing.

    Args:
        paths: the files.
        project: the name of the sessions; None: that of each file.
        settings: the settings, for the store.
        flags: flags that were given and that do not fit traces.

    Raises:
        ConfigError: a flag does not fit.
        DataError: a file cannot be read; nothing is stored.
    """
    if flags:
        raise ConfigError(
            f"{flags[0]} does not fit {FORMAT}: traces become recorded sessions, and no suite. Leave it out."
        )
    read = [(path, project or path.stem, read_traces(path, project or path.stem)) for path in paths]
    with open_store(settings.store, notes=print_store_note) as store:
        for path, name, traces in read:
            store.sessions.add(traces.sessions, ())
            for start in range(0, len(traces.spans), _GROUP):
                store.sessions.add((), traces.spans[start : start + _GROUP])
            found = (
                count(len(traces.sessions), "session"),
                count(traces.answers, "answer"),
                count(len(traces.spans) - traces.answers, "step"),
            )
            print_line(f"{path}: {', '.join(found)} of project {name}")
            for note in traces.notes:
                print_line(f"  {note}")
    print_line("  Look at them, and label answers: evalmark view")
    print_line(f"  Labelled answers become test cases: evalmark export sessions:{read[-1][1]} -o cases.jsonl")
