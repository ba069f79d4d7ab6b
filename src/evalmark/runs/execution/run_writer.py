"""Writes a run that is put together from parts, such as the results of tests or of other processes."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import product

from evalmark.core.protocols import Sink
from evalmark.core.values.run import DatasetInfo, Gate, Metric, Run, RunStatus, metrics_for
from evalmark.core.values.score import Result
from evalmark.core.values.spending import spending_by_model
from evalmark.runs.session.run_store import RunStore
from evalmark.storage.results.run_ids import new_run_id
from evalmark.storage.results.stored_results import masked_result, masked_results_note

from .execute import timestamp, versions
from .revision import revision_in_background

DatasetMetric = tuple[str, str]
"""A dataset, and the name of a metric that applies to it."""


class RunWriter:
    """Writes one run of a store; the only writer of that run."""

    def __init__(self, store: RunStore, run: Run, revision: Callable[[], str] | None = None) -> None:
        self.store, self.run = store, run
        self._revision = revision
        self._sink: Sink = store.sink(run.id)
        self._rows: defaultdict[str, set[int]] = defaultdict(set)
        self._written: set[DatasetMetric] = set()
        self._masked = 0

    def add_part(self, part: Run) -> None:
        """Add the datasets, metrics and spending of a part to the run's header."""
        grown = with_part(self.run, part, self._written)
        self._written |= {(info.name, metric.name) for info in part.datasets for metric in part.metrics}
        if (grown.datasets, grown.metrics) != (self.run.datasets, self.run.metrics):
            self.store.amend(grown)
        self.run = grown

    async def write(self, results: Sequence[Result]) -> None:
        """Store results of datasets that were added; they are durable when this returns.

        Raises:
            StoreError: the store cannot be written.
        """
        masked = [*map(masked_result, results)]
        await self._sink.write(masked)
        self._masked += sum(result.output.masked for result in masked)
        for result in results:
            self._rows[result.trial.dataset].add(result.trial.position)

    def finish(self, status: RunStatus, notes: Sequence[str] = ()) -> Run:
        """Close the run and return it.

        Raises:
            StoreError: the store cannot be written.
        """
        datasets = self.run.datasets
        if status == "complete":
            datasets = tuple(replace(info, rows=len(self._rows[info.name])) for info in datasets)
        all_notes = tuple(dict.fromkeys((*self.run.notes, *notes, *masked_results_note(self._masked))))
        commit = self.run.revision if self._revision is None else self._revision()
        ended = replace(
            self.run, status=status, finished=timestamp(), datasets=datasets, notes=all_notes, revision=commit
        )
        self.store.finish(ended)
        return self.store.run(self.run.id)


def start_run(store: RunStore, name: str, gate: Gate | None = None, resume: str | None = None) -> RunWriter:
    """Start a run in the store, or resume one by its id.

    Raises:
        StoreError: the store cannot be used, or there is no such run.
    """
    if resume is not None:
        return RunWriter(store, replace(store.resume(store.run(resume).id), results=(), gate=gate, finished=None))
    run = Run(id=new_run_id(), name=name, created=timestamp(), status="running", gate=gate, versions=versions())
    commit = revision_in_background()
    store.start(run)
    return RunWriter(store, run, commit)


def with_part(run: Run, part: Run, written: Collection[DatasetMetric] = ()) -> Run:
    """Return the header of a run with the datasets, metrics and spending of a part.

    A metric that differs from another dataset's metric of the same name, for example in its threshold, applies to its
    dataset only. Metrics in `written` were written with an earlier part of their dataset, and stay unchanged.
    """
    names = {info.name for info in run.datasets}
    new = tuple(info for info in part.datasets if info.name not in names)
    targets = dict.fromkeys(filter(None, (*run.target.split(", "), part.target)))
    return replace(
        run,
        target=", ".join(targets),
        datasets=(*(_again(info, part) for info in run.datasets), *new),
        metrics=_metrics(run.metrics, part, written),
        repeat=max(run.repeat, part.repeat),
        embedder=run.embedder or part.embedder,
        spending=spending_by_model((*run.spending, *part.spending)),
        notes=(*run.notes, *(note for note in part.notes if note not in run.notes)),
    )


def _again(info: DatasetInfo, part: Run) -> DatasetInfo:
    """Return the dataset with the plan of the part, if the part has run it again with other scorers."""
    return next((other for other in part.datasets if other.name == info.name and other.plan), info)


def _metrics(metrics: Sequence[Metric], part: Run, written: Collection[DatasetMetric]) -> tuple[Metric, ...]:
    merged = list(metrics)
    for info, metric in product(part.datasets, part.metrics):
        current = metrics_for(merged, info.name).get(metric.name)
        if current is None:
            merged.append(metric)
        elif replace(current, dataset="") != metric and (info.name, metric.name) not in written:
            merged = [other for other in merged if (other.name, other.dataset) != (metric.name, info.name)]
            if metric not in merged:
                merged.append(replace(metric, dataset=info.name))
    return tuple(merged)


def save_runs(runs: Sequence[Run], store: RunStore) -> list[Run]:
    """Store runs as new ones, all of them or none, and return them with their new ids and dates.

    Raises:
        StoreError: the store cannot be written, and nothing was.
    """
    now = timestamp()
    new = [replace(run, id=new_run_id(), created=now, finished=now, versions=versions()) for run in runs]
    store.add(new)
    return [store.run(run.id) for run in new]
