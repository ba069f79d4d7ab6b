"""Merges shards from several stores into one store, in one transaction."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from evalmark.core.errors import StoreError
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, VerdictListener
from evalmark.storage.call_log.transfer import CallTransfer, add_run_spending
from evalmark.storage.database.connection import Connection, SelectRows, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.fields import sortable_time
from evalmark.storage.database.schema import transaction
from evalmark.storage.results.stored_results import encode_result
from evalmark.storage.results.stored_runs import decode_run, insert_run
from evalmark.storage.sessions.transfer import copy_label_samples, copy_labels

from .run_transactions import names_of, put

AT_ONCE = 500
"""Results in memory at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSource:
    """A shard and the store that holds it."""

    run: Run
    path: StoreLocation
    connect: Callable[[], Connection]
    """Opens a connection for reading."""


class MergeTarget(NamedTuple):
    """The merged run."""

    whole: Run
    number: int
    """The number of the run in its store."""
    on_verdicts: VerdictListener | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMerge:
    """The result of a merge."""

    is_new: bool
    """Whether the merged run did not exist before."""
    damaged: int = 0
    """Recorded calls that could not be read and were left out."""
    labels: int = 0
    """New labels that were copied to a run that existed already."""


def merge_shards(
    db: Connection, path: StoreLocation, whole: Run, sources: Sequence[MergeSource], on_verdicts: VerdictListener | None
) -> StoredMerge:
    """Write the merged run with everything that its shards hold, in one transaction; `on_verdicts` is called as results are copied.

    If the run exists already with the same notes, only new labels of its shards are copied.

    Raises:
        StoreError: a shard is damaged or cannot be read; or there is another run with this id.
    """
    damaged = 0
    with transaction(db):
        newest = max((source.run.created for source in sources), key=sortable_time)
        number = insert_run(db, whole, whole.status, listed=newest)  # above its shards, so that `last` means it
        if number is None:
            _refuse_other(db, path, whole)
            return StoredMerge(is_new=False, labels=sum(_copy_new_labels(source, db, whole.id) for source in sources))
        for source in sources:
            with _open_source(source) as select:
                damaged += _copy_shard(select, db, source, MergeTarget(whole, int(number), on_verdicts))
        add_run_spending(db, int(number), whole.spending)
    return StoredMerge(is_new=True, damaged=damaged)


@contextmanager
def _open_source(source: MergeSource) -> Iterator[SelectRows]:
    """Open a shard's store; its errors name that store and not the one that is written."""
    with store_errors(source.path):
        there = source.connect()

    def select(sql: str, parameters: Sequence[Any]) -> list[Any]:
        with store_errors(source.path):
            return there.execute(sql, parameters).fetchall()

    with closing(there):
        yield select


def _copy_shard(select: SelectRows, db: Connection, source: MergeSource, target: MergeTarget) -> int:
    """Copy one shard and return how many of its calls could not be read."""
    whole, number, on_verdicts = target
    carrier = CallTransfer(select, db, number)
    for (number_there,) in select("select number from run where id = ?", (source.run.id,)):
        carrier.copy_run_calls(int(number_there))
    for results in _batches(iter(source.run.results)):
        put(db, (number, 1), names_of(whole), [encode_result(result) for result in results])
        carrier.copy_keys({key for result in results for key in result.calls})
        if on_verdicts is not None:
            on_verdicts(Counter(result.verdict for result in results))
    _copy_labels_of_shard(select, db, source, whole.id)
    return len(carrier.damaged)


def _copy_new_labels(source: MergeSource, db: Connection, to: str) -> int:
    """Copy labels that a shard received after the merge, and return their number."""
    with _open_source(source) as select:
        return _copy_labels_of_shard(select, db, source, to)


def _copy_labels_of_shard(select: SelectRows, db: Connection, source: MergeSource, to: str) -> int:
    try:
        copy_label_samples(select, db, source.run.id, to)
        return copy_labels(select, db, source.run.id, to)
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{source.path}: a label on run {source.run.id}, or a sample of its outputs, is damaged ({error})."
        ) from error


def _batches(results: Iterator[Result]) -> Iterator[list[Result]]:
    while batch := list(islice(results, AT_ONCE)):
        yield batch


def _refuse_other(db: Connection, path: StoreLocation, whole: Run) -> None:
    """Raise StoreError if the run with this id was merged from other shards, which its last note names."""
    there = decode_run(db.execute("select header from run where id = ?", (whole.id,)).get)
    if whole.notes[-1] not in there.notes:
        raise StoreError(f"{path}: there already is another run {whole.id!r}; name another store with -o.")
