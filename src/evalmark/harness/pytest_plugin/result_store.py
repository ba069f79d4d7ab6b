"""Where the results of tests go: into the store, or from a worker of xdist to the process that leads."""

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
    """Where a run is kept, and what it has to do with earlier ones."""

    store: str = field(repr=False)
    """The file, or the address of a server."""
    gate: Gate | None = None
    resume: str | None = None
    """The run to go on with."""
    baseline: str | None = None
    """The run to compare with."""


class RunKeeper:
    """The run in the store; opened with the first result, and written by this process alone.

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
        """The run; begun, or taken up again, at the first use."""
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
        """Whether there is anything to keep."""
        return "writer" in self.__dict__

    @property
    def is_broken(self) -> bool:
        """Whether something could not be kept."""
        return self._fault is not None

    def ledger(self, store: str) -> RunStore:
        """For vectors."""
        return self._store

    def call_log(self, store: str) -> CallLog:
        """For the calls of models, which are then those of the run."""
        return self._store.call_log(self.writer.run.id)

    def ready(self) -> None:
        """Begin the run, if that is still to do: nothing is asked whose result could not be kept.

        Raises:
            StoreError: the store cannot be used, or could not before.
        """
        with self._once():
            _ = self.writer

    def meet(self, part: Run) -> None:
        """Hear of a dataset and its metrics, before their first result.

        Raises:
            StoreError: the store cannot be written, or could not before.
        """
        with self._once():
            self.writer.meet(part)

    async def write(self, results: Sequence[Result]) -> None:
        """Keep results; when this returns they are durable."""
        with self._once():
            await self.writer.write(results)

    def take(self, part: Run) -> None:
        """Keep a part of the run; when this returns it is durable."""
        self.meet(replace(part, spending=()))
        self.spent(part.datasets[0].name, part.spending)
        self._loop.run(self.write(tuple(part.results)))

    def spent(self, dataset: str, spending: Sequence[Spending]) -> None:
        """Note what the calls of a dataset came to."""
        self.costs[dataset] += spending

    def finish(self, status: RunStatus, notes: Sequence[str]) -> Run:
        """Close the run, with all that its calls came to, and give it."""
        spending = tuple(spent for several in self.costs.values() for spent in several)
        self.writer.meet(Run(id="", name="", created="", spending=spending))
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
        """Let go of the store."""
        if "_store" in self.__dict__:
            self._store.close()


class WorkerResults:
    """What a worker of xdist finds, on its way to the process that leads; the store is opened for calls of models only."""

    def __init__(self, running: Callable[[], pytest.Item | None]) -> None:
        self._running = running
        self._stores: dict[str, Store] = {}

    def ledger(self, store: str) -> RunStore:
        """For vectors."""
        if store not in self._stores:
            self._stores[store] = open_store(store)
        return self._stores[store]

    def call_log(self, store: str) -> CallLog:
        """For the calls of models; the run is written by another process, so they are not noted as its own."""
        return self.ledger(store).call_log()

    def ready(self) -> None:
        """The process that leads sees to it."""

    def meet(self, part: Run) -> None:
        """Each part says what it belongs to."""

    async def write(self, results: Sequence[Result]) -> None:
        """Results go with the report of their test."""

    def spent(self, dataset: str, spending: Sequence[Spending]) -> None:
        """Each part says what it came to."""

    def take(self, part: Run) -> None:
        """Put a part to the report of the running test."""
        item = self._running()
        if item is not None:
            item.stash.setdefault(PARTS, []).append(part)

    def send(self, report: Any, begun: Run | None) -> None:
        """Put everything that is known of a test into its report."""
        item = self._running()
        parts = [] if item is None else item.stash.get(PARTS, [])
        if begun is not None:
            report.evalmark_begun = pack_run(begun)
        if parts and item is not None:
            report.evalmark = [pack_run(part) for part in parts]
            item.stash[PARTS] = []

    def close(self) -> None:
        """Let go of the store."""
        for store in self._stores.values():
            store.close()


def trial_key(trial: Trial) -> Key:
    """What a trial is known by in an earlier run."""
    return trial.dataset, masked_id(trial.case.id), trial.repeat, trial.case.fingerprint


def earlier_results(store: str, reference: str) -> dict[str, dict[Key, Result]]:
    """What a run knows, by the fingerprint of the eval that found it; without errors, which are asked anew.

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
    """The part of a run that a worker has sent; None where it cannot be read."""
    with suppress(ValueError, TypeError):
        return unpack_run(parcel)
    return None
