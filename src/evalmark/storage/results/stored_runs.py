"""Reads headers of runs and their results from the store."""

import itertools
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.core.errors import NotFoundError, StoreError
from evalmark.core.values.run import Run, RunStatus, Shard
from evalmark.core.values.score import Result
from evalmark.storage.database.connection import NO_LIMIT, Connection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.field_specs import read_status
from evalmark.storage.database.fields import sql_text
from evalmark.storage.database.holder import WriterProcess, from_text, writer_has_ended
from evalmark.storage.database.open import open_read_only

from .rows import ResultRow, decode_result, decode_run
from .run_ids import runs_back, similar_ids

_ORDER = ("source", "dataset", "position", "repeat", "target", "mode", "number")
_FIELDS = ", ".join(ResultRow._fields)
_RESULT = f"select {_FIELDS} from result where number = ?"  # noqa: S608  columns, not data
_PAGE = f"""
    select {", ".join(_ORDER)}, {_FIELDS} from result
    where run = ? and pass > 0 and ({", ".join(_ORDER)}) > ({", ".join("?" * len(_ORDER))})
    order by {", ".join(_ORDER)} limit ?
"""  # noqa: S608  columns, not data
_FIRST_PAGE, _LARGEST_PAGE = 8, 500
"""Results in one query."""
_PAGE_TEXT = 1 << 20
"""The approximate number of characters in one page."""
_HEADER = "select number, pass, status, holder, header from run"


@dataclass(frozen=True, slots=True)
class StoredResults(Collection[Result]):
    """The results of a run, ordered by dataset, position and repeat; one page at a time is in memory.

    Each iteration opens its own connection, so it works in any thread and process, and after the store was
    closed.
    """

    path: StoreLocation
    number: int

    def __iter__(self) -> Iterator[Result]:
        with store_errors(self.path), closing(open_read_only(self.path)) as db:
            for row in _rows(db, self.number):
                yield _decoded(db, self.path, self.number, row)

    def __len__(self) -> int:
        with store_errors(self.path), closing(open_read_only(self.path)) as db:
            return int(db.execute("select count(*) from result where run = ? and pass > 0", (self.number,)).get)

    def __contains__(self, wanted: object) -> bool:
        return any(wanted == result for result in self)


def stored_result(db: Connection, path: StoreLocation, run: int, key: int) -> Result | None:
    """Return the result with a row number; None if the row was deleted.

    Raises:
        StoreError: it is damaged.
    """
    found = db.execute(_RESULT, (key,)).fetchone()
    return None if found is None else _decoded(db, path, run, ResultRow._make(found))


def _decoded(db: Connection, path: StoreLocation, run: int, row: ResultRow) -> Result:
    try:
        return decode_result(row)
    except (ValueError, TypeError) as error:
        name = db.execute("select id from run where number = ?", (run,)).get
        raise StoreError(
            f"{path}: run {name}: the stored result of case {row.case_id!r} of {row.dataset!r} is damaged "
            f"({error}). {_advice(path)}"
        ) from error


def _advice(path: StoreLocation) -> str:
    if isinstance(path, Path):
        return f"Save all others with evalmark.store.salvage({str(path)!r}, 'NEW_FILE')."
    return "Take it from a backup of the server."


def _rows(db: Connection, number: int) -> Iterator[ResultRow]:
    """Yield the results of a run in order, a page at a time, without a read lock between pages."""
    last: tuple[Any, ...] = (-1, "", 0, 0, "", "", 0)
    size = _FIRST_PAGE
    while found := db.execute(_PAGE, (number, *last, size)).fetchall():
        page = [ResultRow._make(one[len(_ORDER) :]) for one in found]
        yield from page
        last = found[-1][: len(_ORDER)]
        text = sum(len(row.content) + len(row.output) + len(row.scores) for row in page)
        size = max(1, min(_LARGEST_PAGE, size * _PAGE_TEXT // text))


def list_runs(
    db: Connection,
    path: StoreLocation,
    here: WriterProcess,
    limit: int | None = None,
    offset: int = 0,
    *,
    before: str = "",
) -> list[Run]:
    """Return runs, the newest first: at most `limit`, after the first `offset`.

    With `before`, the id of a run, only runs that were started earlier; none if that run no longer exists.
    """
    header = f"{_HEADER} where number < (select number from run where id = ?)" if before else _HEADER  # noqa: S608  texts of ours
    given = *([before] if before else ()), NO_LIMIT if limit is None else limit, offset
    rows = db.execute(f"{header} order by number desc limit ? offset ?", given).fetchall()
    return [_run(db, path, here, *row) for row in rows]


def current_pass(db: Connection, path: StoreLocation, here: WriterProcess, run_id: str) -> tuple[int, int, bool]:
    """Return the number of a run, its latest pass, and whether a process is writing it.

    Raises:
        NotFoundError: there is no run with this id.
    """
    row = db.execute("select number, pass, holder from run where id = ?", (run_id,)).fetchone()
    if row is None:
        raise NotFoundError(_not_found(db, path, run_id, 0))
    number, passed, held = row
    holder = from_text(held)
    return number, passed, holder is not None and not writer_has_ended(db, number, passed, holder, here)


def find_run(db: Connection, path: StoreLocation, here: WriterProcess, reference: str) -> Run:
    """Return the run with an id, with a unique prefix of an id, or with a reference such as `last~1`.

    Raises:
        NotFoundError: there is no such run, or there are several.
    """
    return _run(db, path, here, *_find(db, path, reference))


def find_number(db: Connection, path: StoreLocation, reference: str) -> int:
    """Return the row number of the run that `find_run` returns; raises the same errors."""
    return int(_find(db, path, reference)[0])


def _find(db: Connection, path: StoreLocation, reference: str) -> tuple[Any, ...]:
    back = runs_back(reference)
    rows: list[tuple[Any, ...]] = []
    if back is not None:
        rows += db.execute(f"{_HEADER} order by number desc limit 1 offset ?", (back,))
    elif reference:
        rows += db.execute(f"{_HEADER} where id = ?", (reference,))
        rows = rows or [*db.execute(f"{_HEADER} where substr(id, 1, ?) = ?", (len(reference), reference))]
    if len(rows) != 1:
        raise NotFoundError(_not_found(db, path, reference, len(rows)))
    return rows[0]


def _not_found(db: Connection, path: StoreLocation, reference: str, found: int) -> str:
    ids = [row[0] for row in db.execute("select id from run order by number desc limit 1000")]
    if not ids:
        return f"{path}: there are no runs in this store yet."
    if found > 1:
        several = [name for name in ids if name.startswith(reference)][:5]
        return f"{path}: {found} runs start with {reference!r}: {', '.join(several)}; type more of the one you mean."
    if runs_back(reference) is not None:
        return f"{path}: there is no run {reference!r}; the store has {len(ids)}."
    return f"{path}: there is no run {reference!r}; near it: {similar_ids(reference, ids)}. `last` is the newest one."


_OPEN = """
    where plan = ? and suite = ? and (status <> 'complete'
    or (? and exists (select 1 from result r where r.run = run.number and r.verdict = 'error' and r.pass > 0)))
    order by run.number desc limit 1 offset ?
"""


def unfinished_run(
    db: Connection,
    path: StoreLocation,
    here: WriterProcess,
    same: tuple[str, str],
    shard: Shard | None,
    *,
    errors: bool,
) -> Run | None:
    """Return the newest incomplete run of the same plan, suite and shard; with `errors`, also a complete one with errors."""
    for back in itertools.count():
        row = db.execute(f"{_HEADER} {_OPEN}", (*map(sql_text, same), errors, back)).fetchone()
        run = None if row is None else _run(db, path, here, *row)
        if run is None or str(run.shard) == str(shard):
            return run
    return None


class PassRow(NamedTuple):
    """The columns that say which process wrote a run last."""

    run: int
    number: int
    status: Any
    holder: str | None


def current_status(db: Connection, of: PassRow, here: WriterProcess) -> RunStatus:
    """Return the status of a run; a running one whose process has ended is `interrupted`.

    Raises:
        ValueError: it is no status, or the holder is damaged.
    """
    said, writer = read_status(of.status), from_text(of.holder)
    is_left = said == "running" and (writer is None or writer_has_ended(db, of.run, of.number, writer, here))
    return "interrupted" if is_left else said


def _run(db: Connection, path: StoreLocation, here: WriterProcess, *row: Any) -> Run:
    *of, header = row
    last = PassRow._make(of)
    try:
        run, status = decode_run(header), current_status(db, last, here)
    except (ValueError, TypeError) as error:
        raise StoreError(f"{path}: the header of run number {last.run} is damaged ({error}).") from error
    return replace(run, status=status, results=StoredResults(path, last.run))
