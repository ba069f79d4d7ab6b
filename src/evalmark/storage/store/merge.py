"""A run whose shares stand in several stores, put into one of them or into another: all of it, or nothing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from evalmark.core.errors import StoreError
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.storage.call_log.transfer import CallTransfer, add_run_spending
from evalmark.storage.database.connection import Connection, SelectRows, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.fields import sql_text
from evalmark.storage.database.schema import transaction
from evalmark.storage.results.rows import decode_run, encode_result, encode_run
from evalmark.storage.sessions.transfer import copy_labels

from .run_transactions import names_of, put

AT_ONCE = 500
"""Results in memory at a time."""

ResultListener = Callable[[Sequence[Result]], None]
"""Told of results that are on their way, in the thread that writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSource:
    """A run that is a share of another one, and the store that has it."""

    run: Run
    path: StoreLocation
    connect: Callable[[], Connection]
    """A connection to read with."""


class MergeTarget(NamedTuple):
    """Where a share goes."""

    whole: Run
    number: int
    """Of the whole in its store."""
    watch: ResultListener | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What came of joining."""

    is_new: bool
    """Whether the run was not there before."""
    damaged: int = 0
    """Recorded calls that could not be read and are left out."""
    labels: int = 0
    """Labels of the shares that a run which was there before did not have."""


def merge_shards(
    db: Connection, path: StoreLocation, whole: Run, shares: Sequence[MergeSource], watch: ResultListener | None
) -> MergeResult:
    """Write a run with all that its shares hold, in one transaction in the writer's thread; `watch` is told of results.

    Where the run is there already, with the same notes, only labels are written that its shares have been given since.

    Raises:
        StoreError: a share is damaged or cannot be read; or there is another run with this id.
    """
    damaged = 0
    with transaction(db):
        number = db.execute(
            "insert into run (id, plan, suite, status, pass, header) values (?, ?, ?, ?, 1, ?) "
            "on conflict (id) do nothing returning number",
            (whole.id, sql_text(whole.plan), sql_text(whole.suite), whole.status, encode_run(whole)),
        ).get
        if number is None:
            _refuse_other(db, path, whole)
            return MergeResult(is_new=False, labels=sum(_labels_since(share, db, whole.id) for share in shares))
        for share in shares:
            with _opened(share) as look:
                damaged += _carry(look, db, share, MergeTarget(whole, int(number), watch))
        add_run_spending(db, int(number), whole.spending)
    return MergeResult(is_new=True, damaged=damaged)


@contextmanager
def _opened(share: MergeSource) -> Iterator[SelectRows]:
    """What looks into the store of a share; its faults are those of this store, not of the one that is written."""
    with store_errors(share.path):
        there = share.connect()

    def look(sql: str, given: Sequence[Any]) -> list[Any]:
        with store_errors(share.path):
            return there.execute(sql, given).fetchall()

    with closing(there):
        yield look


def _carry(look: SelectRows, db: Connection, share: MergeSource, into: MergeTarget) -> int:
    """Carry one share; gives how many of its calls could not be read."""
    whole, number, watch = into
    carrier = CallTransfer(look, db, number)
    for (there,) in look("select number from run where id = ?", (share.run.id,)):
        carrier.paid_for(int(there))
    for results in _batches(iter(share.run.results)):
        put(db, (number, 1), names_of(whole), [(encode_result(result), result) for result in results])
        carrier.named({key for result in results for key in result.calls})
        if watch is not None:
            watch(results)
    _carry_labels(look, db, share, whole.id)
    return len(carrier.damaged)


def _labels_since(share: MergeSource, db: Connection, to: str) -> int:
    """Carry what was said of a share after it was joined; gives how many labels that were."""
    with _opened(share) as look:
        return _carry_labels(look, db, share, to)


def _carry_labels(look: SelectRows, db: Connection, share: MergeSource, to: str) -> int:
    try:
        return copy_labels(look, db, share.run.id, to)
    except (ValueError, TypeError) as error:
        raise StoreError(f"{share.path}: a label on run {share.run.id} is damaged ({error}).") from error


def _batches(results: Iterator[Result]) -> Iterator[list[Result]]:
    while batch := list(islice(results, AT_ONCE)):
        yield batch


def _refuse_other(db: Connection, path: StoreLocation, whole: Run) -> None:
    """Raises StoreError where the run of this id was not made of the same shares, which the last note names."""
    there = decode_run(db.execute("select header from run where id = ?", (whole.id,)).get)
    if whole.notes[-1] not in there.notes:
        raise StoreError(f"{path}: there already is another run {whole.id!r}; name another store with -o.")
