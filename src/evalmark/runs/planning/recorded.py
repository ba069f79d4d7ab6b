"""Recorded sessions as a dataset: the answers that people have labelled. Whoever makes a plan hands in who can read them."""

from collections.abc import Callable, Iterator

from evalmark.core.errors import DataError
from evalmark.core.settings import Settings
from evalmark.core.values.case import Case
from evalmark.core.values.run import DatasetInfo
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.suites.suite import SESSIONS_PREFIX

from .plan import DatasetSource, NoteHandler

OpenRecorded = Callable[[str, Settings, NoteHandler], Iterator[Case]]
"""The labelled answers of a project as cases; notes say what was left out. Raises DataError where there are none."""


def nothing_recorded(project: str, settings: Settings, note: NoteHandler) -> Iterator[Case]:
    """Stands where nobody can read what is recorded."""
    raise DataError(
        f"{SESSIONS_PREFIX}{project}: recorded sessions cannot be read here; export them to a file with evalmark export."
    )


def recorded_source(project: str, settings: Settings, opened: OpenRecorded, name: str = "") -> DatasetSource:
    """The labelled answers of a project in the store of the settings."""

    def read(note: NoteHandler) -> Iterator[Case | BadRow]:
        yield from opened(project, settings, note)

    return DatasetSource(info=DatasetInfo(name=name or project, path=f"{SESSIONS_PREFIX}{project}"), read=read)
