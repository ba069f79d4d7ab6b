"""Results that were found elsewhere, kept as runs like any other."""

from collections.abc import Sequence
from dataclasses import replace

from evalmark.core.values.run import Run
from evalmark.runs.session.run_store import RunStore
from evalmark.storage.results.run_ids import new_run_id

from .execute import timestamp, versions


def save_run(run: Run, ledger: RunStore) -> Run:
    """Put a run into the store as a new one, and give it as it is there, with its id and date.

    Raises:
        StoreError: the store cannot be written, and nothing was.
    """
    return save_runs([run], ledger)[0]


def save_runs(runs: Sequence[Run], ledger: RunStore) -> list[Run]:
    """Put runs into the store as new ones, all of them or none, and give them as they are there, with their ids and dates.

    Raises:
        StoreError: the store cannot be written, and nothing was.
    """
    now = timestamp()
    kept = [replace(run, id=new_run_id(), created=now, finished=now, versions=versions()) for run in runs]
    ledger.add(kept)
    return [ledger.run(run.id) for run in kept]
