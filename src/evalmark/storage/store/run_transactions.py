"""Changes runs; each function is one transaction in the writer thread."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from evalmark.core.errors import StoreBusyError, StoreError
from evalmark.core.values.run import Run
from evalmark.storage.call_log import requests_in_flight, spending
from evalmark.storage.call_log.requests_in_flight import RequestsInFlight, RunPass
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.fields import sql_text
from evalmark.storage.database.holder import WriterProcess, from_text, to_text, writer_has_ended
from evalmark.storage.database.schema import transaction
from evalmark.storage.results.stored_results import EncodedResult, ResultRow, encode_result, masked_result
from evalmark.storage.results.stored_runs import decode_run, encode_run, insert_run

IDENTITY = ("dataset", "case_id", "target", "repeat", "mode", "fingerprint")
"""Columns that identify a result within its run."""
_KEEP = f"""
    insert into scored (run, metric, value, result)
    select r.run, ?, cast(? as double precision), r.number from result r
    where r.run = ? and {" and ".join(f"r.{name} = ?" for name in IDENTITY)}
    on conflict do nothing
"""  # noqa: S608  columns, not data
_NAMED = ("run", "pass", "source", *ResultRow._fields)
_INSERT = f"""
    insert into result ({", ".join(_NAMED)}) values ({", ".join("?" * len(_NAMED))})
    on conflict (run, {", ".join(IDENTITY)}) do update set
    {", ".join(f"{name} = excluded.{name}" for name in _NAMED if name not in ("run", *IDENTITY))}
"""  # noqa: S608  columns, not data
_REPLACE_EDITED = """
    update result set pass = 0
    where run = ? and dataset = ? and case_id = ? and target = ? and repeat = ? and mode = ?
    and fingerprint <> ? and pass < ?
"""
_BATCH = 1_000
"""Results in memory at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLock:
    """The write lock of this process on a run."""

    run_id: str
    number: int
    pass_: int
    """1 for the start, one more for each resume; results store the pass that confirmed them last."""
    sources: tuple[str, ...]
    """The names of the run's datasets, in the order of its results."""
    holder: WriterProcess
    lost: requests_in_flight.LostRequests = field(default_factory=dict)
    """Requests of earlier passes whose calls were never stored."""

    @property
    def interrupted(self) -> int | None:
        """Requests that were in flight when the previous pass was interrupted; None if that is not known here."""
        return requests_in_flight.lost_by(self.lost, self.pass_ - 1)


@dataclass(frozen=True, slots=True)
class ConfirmedResult:
    """An earlier result that still belongs to the run, and the present position of its case."""

    number: int
    position: int
    place: str | bytes


def start(db: Connection, path: StoreLocation, run: Run, holder: WriterProcess) -> RunLock:
    """Write the header of a new run.

    Raises:
        StoreError: there is a run with this id.
    """
    with transaction(db):
        requests_in_flight.remove_stale_notes(db, path)
        number = insert_run(db, run, "running", holder=to_text(holder))
        if number is None:
            raise StoreError(f"{path}: there already is a run {run.id!r}; start the new one with another id.")
        db.acquire_lock(number, 1)
    return RunLock(run_id=run.id, number=int(number), pass_=1, sources=names_of(run), holder=holder)


def add(db: Connection, path: StoreLocation, runs: Iterable[Run]) -> None:
    """Write finished runs with all their results, in one transaction.

    Raises:
        StoreError: there is a run with the id of one of them.
    """
    with transaction(db):
        for run in runs:
            number = insert_run(db, run, run.status)
            if number is None:
                raise StoreError(f"{path}: there already is a run {run.id!r}; start the new one with another id.")
            results = iter(run.results)
            while batch := [encode_result(masked_result(result)) for result in islice(results, _BATCH)]:
                put(db, (int(number), 1), names_of(run), batch)


def resume(db: Connection, path: StoreLocation, run_id: str, holder: WriterProcess, *, force: bool) -> RunLock:
    """Continue a run of a process that has ended, or, with `force`, of any process.

    Raises:
        StoreBusyError: a living process writes the run.
        StoreError: there is no such run.
    """
    with transaction(db):
        row = db.execute("select number, pass, holder, header from run where id = ?", (run_id,)).fetchone()
        if row is None:
            raise StoreError(f"{path}: there is no run {run_id!r} to resume.")
        number, passed, holder_text, header = row
        if not force:
            refuse_held(db, (run_id, number, passed), from_text(holder_text), holder)
        requests_in_flight.remove_stale_notes(db, path)
        lost = requests_in_flight.take_over(db, path, RunPass(number, passed + 1))
        db.execute(
            "update run set status = 'running', pass = ?, holder = ? where number = ?",
            (passed + 1, to_text(holder), number),
        )
        db.acquire_lock(number, passed + 1)
    requests_in_flight.remove_stale_notes(db, path)
    sources = names_of(decode_run(header))
    return RunLock(run_id=run_id, number=number, pass_=passed + 1, sources=sources, holder=holder, lost=lost)


def amend(db: Connection, path: StoreLocation, run_lock: RunLock, run: Run) -> RunLock:
    """Update the header of a run with further datasets or metrics; existing ones keep their positions."""
    with transaction(db):
        _confirm_held(db, path, run_lock)
        db.execute("update run set header = ? where number = ?", (encode_run(run), run_lock.number))
    return replace(run_lock, sources=names_of(run))


def refuse_held(db: Connection, run: tuple[str, int, int], writer: WriterProcess | None, here: WriterProcess) -> None:
    """Raise StoreBusyError if another process writes a run, given by its id, number and pass."""
    run_id, number, passed = run
    if writer is None or writer_has_ended(db, number, passed, writer, here):
        return
    where = "" if writer.host == here.host else f" on {writer.host!r}"
    raise StoreBusyError(
        f"run {run_id} is being written by process {writer.pid}{where} since {writer.since}; wait until it is done, or end it."
    )


def names_of(run: Run) -> tuple[str, ...]:
    """Return the names of a run's datasets, in order."""
    return tuple(dataset.name for dataset in run.datasets)


def _confirm_held(db: Connection, path: StoreLocation, run_lock: RunLock) -> None:
    """Raise an error if another process has taken the run over meanwhile."""
    row = db.execute("select holder, pass from run where number = ?", (run_lock.number,)).fetchone()
    if row is None:
        raise StoreError(f"{path}: run {run_lock.run_id} has been deleted while it was written.")
    writer = from_text(row[0])
    if row[1] != run_lock.pass_ or writer is None or not writer.same_process(run_lock.holder):
        by = f"process {writer.pid}" if writer else "another process"
        raise StoreBusyError(f"run {run_lock.run_id} was taken over by {by}; this one stops writing it.")


def write(
    db: Connection,
    path: StoreLocation,
    run_lock: RunLock,
    results: Sequence[EncodedResult],
    confirmed: Sequence[ConfirmedResult],
) -> None:
    """Save results and confirmed earlier ones. They are durable when this returns."""
    with transaction(db):
        _confirm_held(db, path, run_lock)
        _confirm(db, run_lock, confirmed)
        put(db, (run_lock.number, run_lock.pass_), run_lock.sources, results)
        if run_lock.pass_ > 1:
            db.executemany(
                _REPLACE_EDITED,
                ((run_lock.number, *result_identity(result.row), run_lock.pass_) for result in results),
            )


def put(db: Connection, head: tuple[int, int], sources: Sequence[str], results: Sequence[EncodedResult]) -> None:
    """Store results within a transaction; `head` is the run's number and the pass."""
    order = {sql_text(name): number for number, name in enumerate(sources)}
    db.executemany(_INSERT, ((*head, order.get(row.dataset, len(order)), *row) for row, _ in results))
    index_scores(db, head[0], results)


def _confirm(db: Connection, run_lock: RunLock, confirmed: Sequence[ConfirmedResult]) -> None:
    """Assign confirmed results to this pass, at the present position of their cases."""
    db.executemany(
        "update result set pass = ? where number = ?", ((run_lock.pass_, found.number) for found in confirmed)
    )
    db.executemany(
        "update result set position = ?, place = ? where number = ? and (position <> ? or place <> ?)",
        ((found.position, found.place, found.number, found.position, found.place) for found in confirmed),
    )


def finish(
    db: Connection,
    path: StoreLocation,
    run_lock: RunLock,
    run: Run,
    confirmed: Sequence[ConfirmedResult],
    sent: RequestsInFlight,
) -> None:
    """Write the final header and release the run. In a complete run, results that were not confirmed are dropped."""
    with transaction(db):
        _confirm_held(db, path, run_lock)
        _confirm(db, run_lock, confirmed)
        if run.status == "complete":
            db.execute(
                "update result set pass = 0 where run = ? and pass < ? and pass > 0", (run_lock.number, run_lock.pass_)
            )
            sent.mark_complete(db)
        else:
            sent.save(db, {})
        db.execute(
            "update run set status = ?, header = ?, holder = null where number = ?",
            (run.status, encode_run(run), run_lock.number),
        )
    db.release_lock(run_lock.number, run_lock.pass_)


def release(db: Connection, run_lock: RunLock) -> None:
    """Release a run that was not finished; it can be resumed."""
    with transaction(db):
        db.execute("update run set holder = null where number = ? and pass = ?", (run_lock.number, run_lock.pass_))
    db.release_lock(run_lock.number, run_lock.pass_)


def forget(db: Connection, path: StoreLocation, run_id: str, here: WriterProcess) -> None:
    """Delete a run and its results.

    Raises:
        StoreBusyError: a living process writes it.
        StoreError: there is no such run.
    """
    with transaction(db):
        row = db.execute("select number, holder, pass from run where id = ?", (run_id,)).fetchone()
        if row is None:
            raise StoreError(f"{path}: there is no run {run_id!r} to delete.")
        refuse_held(db, (run_id, row[0], row[2]), from_text(row[1]), here)
        delete_rows(db, row[0])
    requests_in_flight.remove_stale_notes(db, path)


def delete_rows(db: Connection, number: int) -> None:
    """Delete a run and its results within a transaction; its calls and labels stay."""
    for table in ("result", "scored", "run_total", "run_summary", "run_stop"):
        db.execute(f"delete from {table} where run = ?", (number,))  # noqa: S608  names of ours
    spending.forget(db, number)
    requests_in_flight.forget(db, number)
    db.execute("delete from run where number = ?", (number,))


def result_identity(row: ResultRow) -> tuple[Any, ...]:
    """Return the columns that identify a result within its run."""
    return row.dataset, row.case_id, row.target, row.repeat, row.mode, row.fingerprint


def index_scores(db: Connection, run: int, results: Iterable[EncodedResult]) -> None:
    """Index stored results by their scores.

    Outdated entries stay in the index; readers compare them with the result.
    """
    db.executemany(
        _KEEP,
        ((name, value, run, *result_identity(row)) for row, values in results for name, value in values),
    )
