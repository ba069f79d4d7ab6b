"""Stores runs that were made elsewhere, such as imported ones."""

from collections.abc import Sequence
from dataclasses import replace

from evalmark.core.values.run import Run
from evalmark.runs.session.run_store import RunStore
from evalmark.storage.results.run_ids import new_run_id

from .execute import timestamp, versions


def save_run(run: Run, store: RunStore) -> Run:
    """Store a run as a new one, and return it with its new id and date.

    Raises:
        StoreError: the store cannot be written, and nothing was.
    """
    return save_runs([run], store)[0]


def save_runs(runs: Sequence[Run], store: RunStore) -> list[Run]:
    """Store runs as new ones, all of them or none, and return them with their new ids and dates.

    Raises:
        StoreError: the store cannot be written, and nothing was.
    """
    now = timestamp()
    new = [replace(run, id=new_run_id(), created=now, finished=now, versions=versions()) for run in runs]
    store.add(new)
    return [store.run(run.id) for run in new]
