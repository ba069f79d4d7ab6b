"""Where the results of tests go: into the store, or from an xdist worker to the main process."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pytest

from evalmark.core.errors import StoreError
from evalmark.core.protocols import CallLog
from evalmark.core.sync import BackgroundLoop
from evalmark.core.values.run import Gate, Run, RunStatus
from evalmark.core.values.score import Result, Trial
from evalmark.core.values.spending import Spending
from evalmark.runs.execution.baseline import LAST_GREEN, baseline_of
from evalmark.runs.execution.run_writer import RunWriter, start_run
from evalmark.runs.session.run_store import RunStore
from evalmark.storage.results.masking import masked_id
from evalmark.storage.results.rows import pack_run, unpack_run
from evalmark.storage.store.store import Store, open_store

NAME = "pytest"
"""What runs of tests are called."""
PARTS = pytest.StashKey[list[Run]]()
Key = tuple[str, str, int, str]
"""Dataset, case, repeat, and the fingerprint of the case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLocation:
    """Where a run is kept, and the earlier runs that it resumes or is compared with."""

    store: str = field(repr=False)
    """The file, or the address of a server."""
    gate: Gate | None = None
    resume: str | None = None
    """The run to go on with."""
    baseline: str | None = None
    """The run to compare with."""


class RunKeeper:
    """Writes the run of the tests into the store; opened with the first result.

    A store that has failed is not tried again: each try may wait long, and no further case is asked whose result could
    not be kept.
    """

    def __init__(self, place: RunLocation, loop: BackgroundLoop, say: Callable[[str], None]) -> None:
        self._place, self._loop, self._say = place, loop, say
        self._fault: StoreError | None = None
        self.costs: defaultdict[str, list[Spending]] = defaultdict(list)
        """What the calls of each dataset came to."""

    @cached_property
    def _store(self) -> Store:
        return open_store(self._place.store, notes=self._say)

    @cached_property
    def writer(self) -> RunWriter:
        """The writer of the run; starts or resumes it at the first use."""
        _ = self.baseline  # found now, when `last` still is the one before this
        return start_run(self._store, NAME, self._place.gate, self._place.resume)

    @cached_property
    def baseline(self) -> Run | None:
        """The run to compare with; None when none was asked for.

        Raises:
            StoreError: there is no such run.
        """
        if self._place.baseline is None:
            return None
        with open_store(self._place.store, read_only=self._place.baseline != LAST_GREEN) as store:
            found = baseline_of(store, self._place.baseline, Run(id="", name=NAME, created=""))
        if found.said:
            self._say(found.said)
        return found.run

    @property
    def is_used(self) -> bool:
        """Whether a run has started."""
        return "writer" in self.__dict__

    @property
    def is_broken(self) -> bool:
        """Whether something could not be stored."""
        return self._fault is not None

    def vector_store(self, store: str) -> RunStore:
        """Return the store of vectors."""
        return self._store

    def call_log(self, store: str) -> CallLog:
        """Return the call log of the run."""
        return self._store.call_log(self.writer.run.id)

    def ready(self) -> None:
        """Start the run if it has not started: nothing is asked whose result could not be stored.

        Raises:
            StoreError: the store cannot be used, or could not before.
        """
        with self._once():
            _ = self.writer

    def add_part(self, part: Run) -> None:
        """Add a dataset and its metrics to the run, before their first result.

        Raises:
            StoreError: the store cannot be written, or could not before.
        """
        with self._once():
            self.writer.add_part(part)

    async def write(self, results: Sequence[Result]) -> None:
        """Store results; they are durable when this returns."""
        with self._once():
            await self.writer.write(results)

    def keep(self, part: Run) -> None:
        """Store a part of the run; it is durable when this returns."""
        self.add_part(replace(part, spending=()))
        self.spent(part.datasets[0].name, part.spending)
        self._loop.run(self.write(tuple(part.results)))

    def spent(self, dataset: str, spending: Sequence[Spending]) -> None:
        """Note the spending of a dataset."""
        self.costs[dataset] += spending

    def finish(self, status: RunStatus, notes: Sequence[str]) -> Run:
        """Close the run with its total spending, and return it."""
        spending = tuple(spent for several in self.costs.values() for spent in several)
        self.writer.add_part(Run(id="", name="", created="", spending=spending))
        return self.writer.finish(status, notes)

    @contextmanager
    def _once(self) -> Iterator[None]:
        if self._fault is not None:
            raise StoreError(str(self._fault))
        try:
            yield
        except StoreError as fault:
            self._fault = fault
            raise

    def close(self) -> None:
        """Close the store."""
        if "_store" in self.__dict__:
            self._store.close()


class WorkerResults:
    """Sends the results of an xdist worker to the main process; opens the store for model calls only."""

    def __init__(self, running: Callable[[], pytest.Item | None]) -> None:
        self._running = running
        self._stores: dict[str, Store] = {}

    def vector_store(self, store: str) -> RunStore:
        """Return the store of vectors."""
        if store not in self._stores:
            self._stores[store] = open_store(store)
        return self._stores[store]

    def call_log(self, store: str) -> CallLog:
        """Return a call log outside of runs, since the main process writes the run."""
        return self.vector_store(store).call_log()

    def ready(self) -> None:
        """Do nothing: the main process starts the run."""

    def add_part(self, part: Run) -> None:
        """Do nothing: each part names its dataset and metrics."""

    async def write(self, results: Sequence[Result]) -> None:
        """Do nothing: results go with the report of their test."""

    def spent(self, dataset: str, spending: Sequence[Spending]) -> None:
        """Do nothing: each part has its spending."""

    def keep(self, part: Run) -> None:
        """Add a part to the report of the running test."""
        item = self._running()
        if item is not None:
            item.stash.setdefault(PARTS, []).append(part)

    def send(self, report: Any, begun: Run | None) -> None:
        """Put all parts of a test into its report."""
        item = self._running()
        parts = [] if item is None else item.stash.get(PARTS, [])
        if begun is not None:
            report.evalmark_begun = pack_run(begun)
        if parts and item is not None:
            report.evalmark = [pack_run(part) for part in parts]
            item.stash[PARTS] = []

    def close(self) -> None:
        """Close the store."""
        for store in self._stores.values():
            store.close()


def trial_key(trial: Trial) -> Key:
    """Return the key of a trial in an earlier run."""
    return trial.dataset, masked_id(trial.case.id), trial.repeat, trial.case.fingerprint


def earlier_results(store: str, reference: str) -> dict[str, dict[Key, Result]]:
    """Return the results of a run without errors, by the fingerprint of their eval.

    Raises:
        StoreError: there is no such run.
    """
    with open_store(store, read_only=True) as opened:
        run = opened.run(reference)
        plans = {info.name: info.plan for info in run.datasets if info.plan}
        found: defaultdict[str, dict[Key, Result]] = defaultdict(dict)
        for result in run.results:
            trial = result.trial
            if trial.dataset in plans and result.verdict != "error":
                found[plans[trial.dataset]][trial_key(trial)] = result
    return dict(found)


def read_payload(parcel: Any) -> Run | None:
    """Return the part of a run that a worker has sent; None where it cannot be read."""
    with suppress(ValueError, TypeError):
        return unpack_run(parcel)
    return None
