"""Results that were found elsewhere, kept as a run like any other."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from evalmark.results import new_run_id
from evalmark.values import Result, Run

from .conduct import timestamp, versions
from .door import now
from .ledger import Ledger

BATCH = 1_000
"""Results of one transaction."""


def keep(run: Run, ledger: Ledger) -> Run:
    """Put a run into the store as a new one, and give it as it is there, with its id and date.

    Raises:
        StoreError: the store cannot be written; what was saved of the run until then is taken up by nobody.
    """
    kept = replace(run, id=new_run_id(), created=timestamp(), finished=None, versions=versions(), results=())
    ledger.start(replace(kept, status="running"))
    now(_written(run.results, ledger, kept.id))
    ledger.finish(replace(kept, finished=timestamp()))
    return ledger.run(kept.id)


async def _written(results: Iterable[Result], ledger: Ledger, run_id: str) -> None:
    sink = ledger.sink(run_id)
    for batch in _batches(iter(results)):
        await sink.write(batch)


def _batches(results: Iterator[Result]) -> Iterator[list[Result]]:
    while batch := list(islice(results, BATCH)):
        yield batch
