"""Stores the results of tests, or sends them from an xdist worker to the main process."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
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
from evalmark.storage.results.stored_results import masked_id
from evalmark.storage.results.stored_runs import pack_run, unpack_run
from evalmark.storage.store.store import Store, open_store

NAME = "pytest"
"""The name of runs of tests."""
PARTS = pytest.StashKey[list[Run]]()
Key = tuple[str, str, int, str]
"""Dataset, case, repeat, and the fingerprint of the case."""


class RunKeeper:
    """Writes the run of the tests into the store; opened with the first result.

    After an error of the store it is not used again: each attempt may take long, and a case whose result cannot be stored
    is not run.
    """

    def __init__(
        self, config: pytest.Config, store: str, gate: Gate | None, loop: BackgroundLoop, notify: Callable[[str], None]
    ) -> None:
        self._location, self._gate, self._loop, self._notify = store, gate, loop, notify
        self._resume: str | None = config.getoption("evalmark_resume")
        self._baseline: str | None = config.getoption("evalmark_baseline")
        self._error: StoreError | None = None
        self.costs: defaultdict[str, list[Spending]] = defaultdict(list)
        """The spending of each dataset."""

    @cached_property
    def _store(self) -> Store:
        return open_store(self._location, notes=self._notify)

    @cached_property
    def writer(self) -> RunWriter:
        """The writer of the run; starts or resumes it at the first use."""
        _ = self.baseline  # read first, while `last` still means the run before this one
        return start_run(self._store, NAME, self._gate, self._resume)

    @cached_property
    def baseline(self) -> Run | None:
        """The run to compare with; None without --evalmark-baseline.

        Raises:
            StoreError: there is no such run.
        """
        if self._baseline is None:
            return None
        with open_store(self._location, read_only=self._baseline != LAST_GREEN) as store:
            chosen = baseline_of(store, self._baseline, Run(id="", name=NAME, created=""))
        if chosen.reason:
            self._notify(chosen.reason)
        return chosen.run

    @property
    def is_used(self) -> bool:
        """Whether a run has started."""
        return "writer" in self.__dict__

    @property
    def is_broken(self) -> bool:
        """Whether something could not be stored."""
        return self._error is not None

    def vector_store(self) -> RunStore:
        """Return the store of vectors."""
        return self._store

    def call_log(self) -> CallLog:
        """Return the call log of the run."""
        return self._store.call_log(self.writer.run.id)

    def ready(self) -> None:
        """Start the run if it has not started, so that no case is run whose result cannot be stored.

        Raises:
            StoreError: the store cannot be used, or failed before.
        """
        with self._once():
            _ = self.writer

    def add_part(self, part: Run) -> None:
        """Add a dataset and its metrics to the run, before their first result.

        Raises:
            StoreError: the store cannot be written, or failed before.
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
        spending = tuple(item for items in self.costs.values() for item in items)
        self.writer.add_part(Run(id="", name="", created="", spending=spending))
        return self.writer.finish(status, notes)

    @contextmanager
    def _once(self) -> Iterator[None]:
        if self._error is not None:
            raise StoreError(str(self._error))
        try:
            yield
        except StoreError as error:
            self._error = error
            raise

    def close(self) -> None:
        """Close the store."""
        if "_store" in self.__dict__:
            self._store.close()


class WorkerResults:
    """Sends the results of an xdist worker to the main process; opens the store for model calls only."""

    def __init__(self, store: str, running_test: Callable[[], pytest.Item | None]) -> None:
        self._location, self._running_test = store, running_test

    @cached_property
    def _store(self) -> Store:
        return open_store(self._location)

    def vector_store(self) -> RunStore:
        """Return the store of vectors."""
        return self._store

    def call_log(self) -> CallLog:
        """Return a call log outside of runs, since the main process writes the run."""
        return self._store.call_log()

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
        item = self._running_test()
        if item is not None:
            item.stash.setdefault(PARTS, []).append(part)

    def send(self, report: Any, unfinished: Run | None) -> None:
        """Put all parts of a test into its report; `unfinished` is stored if the worker dies in the test."""
        item = self._running_test()
        parts = [] if item is None else item.stash.get(PARTS, [])
        if unfinished is not None:
            report.evalmark_begun = pack_run(unfinished)
        if parts and item is not None:
            report.evalmark = [pack_run(part) for part in parts]
            item.stash[PARTS] = []

    def close(self) -> None:
        """Close the store."""
        if "_store" in self.__dict__:
            self._store.close()


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
        results: defaultdict[str, dict[Key, Result]] = defaultdict(dict)
        for result in run.results:
            trial = result.trial
            if trial.dataset in plans and result.verdict != "error":
                results[plans[trial.dataset]][trial_key(trial)] = result
    return dict(results)


def read_payload(payload: Any) -> Run | None:
    """Return the part of a run that a worker has sent; None where it cannot be read."""
    with suppress(ValueError, TypeError):
        return unpack_run(payload)
    return None
