"""Reports the progress of runs, and whether a store has changed, without reading results: the viewer calls it often."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from evalmark.core.errors import StoreError
from evalmark.core.values.run import RunStatus
from evalmark.storage.database.connection import Connection, FileConnection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.holder import WriterProcess
from evalmark.storage.results.stored_runs import PassRow, current_status


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """The state of a run."""

    run: str
    status: RunStatus
    """`interrupted` if its process has ended."""
    passes: int
    """1 for the start, one more for each resume."""
    results: Mapping[str, tuple[int, int]]
    """For each verdict, the number of results and the row number of the newest."""

    @property
    def mark(self) -> str:
        """A short text that changes whenever there is something new to show."""
        return _mark(self.run, self.status, self.passes, sorted(self.results.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreProgress:
    """The state of all runs of a store."""

    runs: int
    newest: int
    """Grows with each new run."""
    running: tuple[RunProgress, ...]
    """Runs that a living process writes."""

    @property
    def mark(self) -> str:
        """A short text that changes whenever there is something new to show."""
        return _mark(self.runs, self.newest, [run.mark for run in self.running])


class StoreVersion:
    """Tells whether anything was written to a store. `Store.version` creates it; close it after use."""

    def __init__(self, connect: Callable[[], Connection], path: StoreLocation) -> None:
        self._connect, self._path = connect, path
        self._lock = Lock()
        self._file: tuple[int, int] | None = None
        self._db = self._opened()

    def read(self) -> str:
        """Return a text that changes with each transaction that writes, of this process or another one.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._lock, store_errors(self._path):
            # A file counts the changes of others for each connection, and this one writes nothing. A server lists
            # which transactions that write have begun and ended.
            if not isinstance(self._db, FileConnection):
                return str(self._db.execute("select cast(txid_current_snapshot() as text)").get)
            if self._file != file_identity(self._path):  # the store was deleted and made again
                self._db.close()
                self._db = self._opened()
            return f"{self._file} {self._db.execute('pragma data_version').get}"

    def _opened(self) -> Connection:
        file = file_identity(self._path)
        db = self._connect()
        self._file = file
        return db

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._db.close()


def run_progress(db: Connection, path: StoreLocation, here: WriterProcess, number: int) -> RunProgress:
    """Return the state of the run with a row number.

    Raises:
        StoreError: its header is damaged.
    """
    return next(_progress_of_runs(db, path, here, "number = ?", number))


def store_progress(db: Connection, path: StoreLocation, here: WriterProcess) -> StoreProgress:
    """Return the state of all runs.

    Raises:
        StoreError: the header of a running one is damaged.
    """
    row: Any = db.execute("select count(*), coalesce(max(number), 0) from run").fetchone()
    found = _progress_of_runs(db, path, here, "status = ?", "running")
    return StoreProgress(runs=row[0], newest=row[1], running=tuple(one for one in found if one.status == "running"))


def _progress_of_runs(
    db: Connection, path: StoreLocation, here: WriterProcess, condition: str, value: int | str
) -> Iterator[RunProgress]:
    sql = f"select number, id, status, pass, holder from run where {condition} order by number"  # noqa: S608  texts of ours
    rows: list[Any] = db.execute(sql, (value,)).fetchall()
    for number, run, status, passes, holder in rows:
        try:
            current = current_status(db, PassRow(number, passes, status, holder), here)
        except ValueError as error:
            raise StoreError(f"{path}: the header of run number {number} is damaged ({error}).") from error
        sql = "select verdict, count(*), max(number) from result where run = ? and pass > 0 group by verdict"
        results = {verdict: (n, newest) for verdict, n, newest in db.execute(sql, (number,))}
        yield RunProgress(run=run, status=current, passes=passes, results=results)


def file_identity(path: StoreLocation) -> tuple[int, int] | None:
    """Return what tells a file from another one at the same path; None for a server, and without a file."""
    if not isinstance(path, Path):
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _mark(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode(errors="backslashreplace")).hexdigest()[:16]
