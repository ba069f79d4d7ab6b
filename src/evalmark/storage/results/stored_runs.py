"""Stores headers of runs, and finds runs by id, age or state."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from evalmark.core.errors import NotFoundError, StoreError
from evalmark.core.text import one_line
from evalmark.core.values.run import Run, RunStatus, Shard
from evalmark.inputs.secrets.masks import mask_secrets_in_data
from evalmark.storage.database.connection import NO_LIMIT, Connection, StoreLocation
from evalmark.storage.database.field_specs import RUN, read_status
from evalmark.storage.database.fields import dump_fields, from_sql, load_fields, sortable_time, sql_text, to_json
from evalmark.storage.database.holder import WriterProcess, from_text, writer_has_ended

from .run_ids import is_suite_reference, similar_ids, split_reference
from .stored_results import ResultRow, StoredResults, decode_result, encode_result

_HEADER = "select number, pass, status, holder, header from run"
_NEWEST_FIRST = "order by created desc, number desc"
"""By the time at which runs started, so that an imported run is listed where it was made; then by the order in which they were stored."""
_PLACE = "(created, number)"
_PLACE_OF = "(select created, number from run where id = ?)"


def encode_run(run: Run) -> str:
    """Encode the header of a run as JSON, without secrets and without results."""
    return to_json(mask_secrets_in_data(dump_fields(run, RUN)))


def decode_run(text: str) -> Run:
    """Decode the header of a run, without results.

    Raises:
        ValueError: the text is not what `encode_run` writes.
    """
    run: Run = load_fields(Run, RUN, json.loads(text))
    return run


PackedRun = tuple[str, list[tuple[Any, ...]]]
"""A run as plain data, to be sent to another process."""


def insert_run(
    db: Connection, run: Run, status: str, *, holder: str | None = None, listed: str | None = None
) -> int | None:
    """Write the header of a new run, and return its row number; None if there is a run with its id.

    `listed` is the time by which it is listed if not by its start.
    """
    time = sortable_time(run.created if listed is None else listed)
    number: int | None = db.execute(
        "insert into run (id, plan, suite, status, pass, holder, created, header) values (?, ?, ?, ?, 1, ?, ?, ?) "
        "on conflict (id) do nothing returning number",
        (run.id, sql_text(run.plan), sql_text(run.suite), status, holder, time, encode_run(run)),
    ).get
    return number


def pack_run(run: Run) -> PackedRun:
    """Convert the header and the results of a run to plain data."""
    return encode_run(run), [tuple(encode_result(result).row) for result in run.results]


def unpack_run(data: PackedRun) -> Run:
    """Convert the data of `pack_run` to a run, with its results in the same order.

    Raises:
        ValueError: the data is not what `pack_run` returns.
    """
    header, rows = data
    return replace(decode_run(header), results=tuple(decode_result(ResultRow(*row)) for row in rows))


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
    header = f"{_HEADER} where {_PLACE} < {_PLACE_OF}" if before else _HEADER
    parameters = *([before] if before else ()), NO_LIMIT if limit is None else limit, offset
    rows = db.execute(f"{header} {_NEWEST_FIRST} limit ? offset ?", parameters).fetchall()
    return [_run(db, path, here, *row) for row in rows]


def runs_of_suite(
    db: Connection, path: StoreLocation, here: WriterProcess, run: Run, *, later: int, earlier: int
) -> tuple[list[Run], list[Run]]:
    """Return the runs after and before a run that have its suite file and its name, each the newest first.

    Args:
        db: a connection to the store.
        path: the store, for messages.
        here: this process.
        run: the run.
        later: the most runs after it.
        earlier: the most runs before it.
    """
    same = f"{_HEADER} where suite = ? and json_extract(header, '$.name') = ? and {_PLACE}"
    known = (sql_text(run.suite), sql_text(run.name), run.id)
    after = db.execute(f"{same} > {_PLACE_OF} order by created, number limit ?", (*known, later)).fetchall()
    before = db.execute(f"{same} < {_PLACE_OF} {_NEWEST_FIRST} limit ?", (*known, earlier)).fetchall()
    newer, older = ([_run(db, path, here, *row) for row in rows] for rows in (reversed(after), before))
    return newer, older


def current_pass(db: Connection, path: StoreLocation, here: WriterProcess, run_id: str) -> tuple[int, int, bool]:
    """Return the number of a run, its latest pass, and whether a process is writing it.

    Raises:
        NotFoundError: there is no run with this id.
    """
    row = db.execute("select number, pass, holder from run where id = ?", (run_id,)).fetchone()
    if row is None:
        raise NotFoundError(_not_found(db, path, run_id, 0))
    number, passed, text = row
    holder = from_text(text)
    return number, passed, holder is not None and not writer_has_ended(db, number, passed, holder, here)


def find_run(
    db: Connection, path: StoreLocation, here: WriterProcess, reference: str, notes: Callable[[str], None]
) -> Run:
    """Return the run with an id or a unique prefix of one, or the newest run of a name or of a suite file.

    `last` is the newest run of all; `~N` goes back by N runs. `notes` receives a remark if several runs have the name.

    Raises:
        NotFoundError: there is no such run, or there are several.
    """
    return _run(db, path, here, *_find(db, path, reference, notes))


def find_number(db: Connection, path: StoreLocation, reference: str) -> int:
    """Return the row number of the run that `find_run` returns; raises the same errors."""
    return int(_find(db, path, reference, lambda _: None)[0])


def _find(db: Connection, path: StoreLocation, reference: str, notes: Callable[[str], None]) -> tuple[Any, ...]:
    base, back = split_reference(reference)
    newest = f"{_NEWEST_FIRST} limit 1 offset ?"
    rows: list[tuple[Any, ...]] = [*db.execute(f"{_HEADER} where id = ?", (reference,))]
    if base == "last":
        rows = [*db.execute(f"{_HEADER} {newest}", (back,))]
    elif not rows and is_suite_reference(reference):
        suites = to_json(_suites_like(db, base))
        rows = [*db.execute(f"{_HEADER} where suite in (select value from json_each(?)) {newest}", (suites, back))]  # noqa: S608  texts of ours
    elif not rows and base:
        named = [row[0] for row in db.execute(f"{_NAMED} {_NEWEST_FIRST}", (base,))]
        if len(named) > back:
            rows = [*db.execute(f"{_HEADER} where number = ?", (named[back],))]
            if len(named) > 1 and base == reference:
                notes(f"{len(named)} runs have the name {base!r}; this is the newest. {base}~1 is the one before it.")
        else:
            rows = [*db.execute(f"{_HEADER} where substr(id, 1, ?) = ?", (len(reference), reference))]
    if len(rows) != 1:
        raise NotFoundError(_not_found(db, path, reference, len(rows)))
    return rows[0]


_NAMED = (  # a damaged header must not hide the other runs
    "select number from run where case when json_valid(header) then json_extract(header, '$.given_name') end = ?"
)


def _suites_like(db: Connection, file: str) -> list[str]:
    """Return the suites of stored runs that have the path of a file; if none has, those with its name."""
    suites = [from_sql(row[0]) for row in db.execute("select distinct suite from run")]
    same = [suite for suite in suites if suite and Path(suite).absolute() == Path(file).absolute()]
    return same or [suite for suite in suites if PurePath(suite).name == PurePath(file).name]


def _not_found(db: Connection, path: StoreLocation, reference: str, found: int) -> str:
    ids = [row[0] for row in db.execute("select id from run " + _NEWEST_FIRST + " limit 1000")]  # noqa: S608  texts of ours
    base, back = split_reference(reference)
    if not ids:
        return f"{path}: there are no runs in this store yet; evalmark run SUITE stores one, or name another file with --store."
    if found > 1:
        several = [name for name in ids if name.startswith(reference)][:5]
        return f"{path}: {found} runs start with {reference!r}: {', '.join(several)}; type more of the one you mean."
    if base == "last":
        return f"{path}: there is no run {reference!r}; the store has {len(ids)}."
    if is_suite_reference(reference):
        before = f" that is {back} before the newest" if back else ""
        return f"{path}: there is no run of {base}{before}; evalmark list shows the stored runs."
    near = ", ".join(_with_name(db, run) for run in similar_ids(reference, ids))
    return f"{path}: there is no run {reference!r}; stored runs include {near}. `last` is the newest one."


def _with_name(db: Connection, run: str) -> str:
    """Return the id of a run with its given name, or else that of its suite."""
    (name,) = db.execute(_NAME_OF, (run,)).fetchone()
    return f"{run} ({one_line(name, 40)})" if name else run


_NAME_OF = """
    select case when json_valid(header) then
        coalesce(nullif(json_extract(header, '$.given_name'), ''), json_extract(header, '$.name')) end
    from run where id = ?
"""


_OPEN = """
    where plan = ? and suite = ? and (status <> 'complete'
    or (? and exists (select 1 from result r where r.run = run.number and r.verdict = 'error' and r.pass > 0)))
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
        row = db.execute(
            f"{_HEADER} {_OPEN} {_NEWEST_FIRST} limit 1 offset ?", (*map(sql_text, same), errors, back)
        ).fetchone()
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
        ValueError: the status is unknown, or the holder is damaged.
    """
    stored, writer = read_status(of.status), from_text(of.holder)
    is_abandoned = stored == "running" and (writer is None or writer_has_ended(db, of.run, of.number, writer, here))
    return "interrupted" if is_abandoned else stored


def _run(db: Connection, path: StoreLocation, here: WriterProcess, *row: Any) -> Run:
    *of, header = row
    last = PassRow._make(of)
    try:
        run, status = decode_run(header), current_status(db, last, here)
    except (ValueError, TypeError) as error:
        raise StoreError(f"{path}: the header of run number {last.run} is damaged ({error}).") from error
    return replace(run, status=status, results=StoredResults(path, last.run))
