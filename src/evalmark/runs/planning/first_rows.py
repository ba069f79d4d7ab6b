"""Keeps the first rows of a dataset, so that the checks before a run and the run itself parse them once."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from evalmark.core.values.case import Case
from evalmark.inputs.datasets.options import BadRow

CHECKED_ROWS = 1_000
"""Rows of each dataset that are read and checked before the first trial."""

NoteHandler = Callable[[str], None]
RowSource = Callable[[NoteHandler], Iterator[Case | BadRow]]
"""Each call reads from the first row; the argument is called with remarks for readers of the run."""


class _KeptRow(NamedTuple):
    row: Case | BadRow | None
    """None: the end of the dataset."""
    notes: tuple[str, ...]
    """The remarks before it."""


class _Reading:
    """A reading of a dataset that a later reader may continue."""

    def __init__(self, read: RowSource) -> None:
        self._notes: list[str] = []
        self._rows = read(self._notes.append)

    def next(self) -> _KeptRow:
        self._notes.clear()
        return _KeptRow(next(self._rows, None), tuple(self._notes))

    def after(self, rows: int) -> "_Reading":
        """Skip the next rows, with the remarks before them."""
        for _ in range(rows):
            self.next()
        return self


class FirstRows:
    """Reads a dataset from its first row with each call, like `read`, but parses its first rows once.

    The first rows stay in memory. A reader that stops within them leaves the rest to the next reader.

    Args:
        read: Reads the dataset.
        most: How many rows are kept.
    """

    def __init__(self, read: RowSource, most: int = CHECKED_ROWS) -> None:
        self._read, self._most = read, most
        self._kept: list[_KeptRow] = []
        self._rest: _Reading | None = None
        """The rows after the kept ones; None: another reader has them."""

    def __call__(self, note: NoteHandler) -> Iterator[Case | BadRow]:
        """Yield all rows; `note` is called with the remarks on them."""
        if not self._kept:
            self._rest = _Reading(self._read)
        for row, notes in self._kept:
            for text in notes:
                note(text)
            if row is None:
                return
            yield row
        rest, self._rest = self._rest, None
        if rest is not None:
            yield from self._continued(rest, note, keeps=True)
        else:  # another reader has gone on
            yield from self._continued(_Reading(self._read).after(len(self._kept)), note, keeps=False)

    def _continued(self, rest: _Reading, note: NoteHandler, *, keeps: bool) -> Iterator[Case | BadRow]:
        """Yield further rows; with `keeps`, keep them as long as they are among the first."""
        while True:
            row, notes = item = rest.next()
            for text in notes:
                note(text)
            if is_first := keeps and len(self._kept) < self._most:
                self._kept.append(item)
            if row is None:
                return
            try:
                yield row
            except GeneratorExit:
                if is_first:
                    self._rest = rest
                raise
