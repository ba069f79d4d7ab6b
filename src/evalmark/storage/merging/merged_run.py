"""Joins runs that were executed side by side, for example on several CI machines."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, groupby, pairwise

from evalmark.core.text import count
from evalmark.core.values.run import DatasetInfo, Metric, Run, RunStatus, metrics_for
from evalmark.core.values.score import Result, Trial
from evalmark.core.values.spending import spending_by_model

from .missing import missing_shards, own_notes

Key = tuple[str, str, str]
"""A case of a run: its dataset, id and fingerprint."""


def merge_runs(runs: Sequence[Run]) -> Run:
    """Join several runs: unite datasets, metrics and spending, and append the results.

    A trial that several runs contain counts once, from the first of them, and a note says so. The merged run is
    complete if every part is. Results are not copied; they are read when needed.
    """
    if len(runs) == 1:
        return runs[0]
    found = _collect_cases(runs)
    metrics, differing = _metrics(runs, found)
    lost = missing_shards(runs)
    return Run(
        id="+".join(run.id for run in runs),
        name=_join_texts(run.name for run in runs),
        created=min(run.created for run in runs),
        finished=_latest(runs),
        status=_status_of_all(runs, lost),
        target=_join_texts(run.target for run in runs),
        datasets=_datasets(runs, found, complete=not lost and all(run.status == "complete" for run in runs)),
        metrics=metrics,
        repeat=max(run.repeat for run in runs),
        gate=runs[0].gate if all(run.gate == runs[0].gate for run in runs) else None,
        suite=common_value(runs, lambda run: run.suite),
        plan=common_value(runs, lambda run: run.plan),
        embedder=common_value(runs, lambda run: run.embedder),
        versions=merged_versions(runs),
        spending=spending_by_model(spent for run in runs for spent in run.spending),
        notes=(*_notes(runs, found, differing), *lost),
        results=_Results(runs, found),
    )


def _status_of_all(runs: Sequence[Run], lost: Collection[str]) -> RunStatus:
    """Return `complete` if every run is complete and no shard is missing."""
    broken = next((status for run in runs if (status := _status(run)) != "complete"), None)
    return broken or ("interrupted" if lost else "complete")


def _status(run: Run) -> RunStatus:
    """Return the status of a part. A run that stopped early because its own gate was decided counts as interrupted."""
    return "interrupted" if run.until_decided is not None and run.until_decided.outcome else run.status


@dataclass(slots=True)
class _Cases:
    """The cases that several runs share, and the position of each. Datasets of a single run are not changed."""

    orders: list[list[str]]
    """The datasets of each run, in the order of its results."""
    size: int = 0
    """The number of results of all runs; each trial counts once."""
    shared: frozenset[str] = frozenset()
    """Datasets with results in several runs."""
    positions: dict[Key, int] = field(default_factory=dict)
    used_positions: dict[str, set[int]] = field(default_factory=dict)
    """The positions in use, for each shared dataset."""
    free_positions: dict[str, int] = field(default_factory=dict)
    """The first free position after all used ones, for each shared dataset."""
    combinations: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """A number for each combination of target, mode and repeat."""
    holders: dict[tuple[int, str, int], int] = field(default_factory=dict)
    """The first run that contains a trial; a trial is its position, dataset and number in `combinations`."""
    duplicates: int = 0
    """Trials that an earlier run contains already."""

    def register(self, number: int, run: Run) -> None:
        """Register the trials of one run."""
        for trial in (result.trial for result in run.results):
            if trial.dataset in self.shared:
                self._place(_key(trial), trial.position)
                self.duplicates += self.holders.setdefault(self._name(trial), number) != number

    def _place(self, key: Key, own: int) -> None:
        """Assign a position to a case: its own, unless another case of the dataset already has it."""
        if key not in self.positions:
            taken = self.used_positions.setdefault(key[0], set())
            position = own if own not in taken else self.free_positions[key[0]]
            taken.add(position)
            self.positions[key] = position
            self.free_positions[key[0]] = max(self.free_positions.get(key[0], 0), position + 1)

    def _name(self, trial: Trial) -> tuple[int, str, int]:
        combination = self.combinations.setdefault((trial.target, trial.mode, trial.repeat), len(self.combinations))
        return self.positions[_key(trial)], trial.dataset, combination

    def of(self, number: int, results: Iterable[Result]) -> Iterator[Result]:
        """Yield the results of one run that no earlier run contains, with their positions in the merged run."""
        for result in results:
            trial = result.trial
            if trial.dataset not in self.shared:
                yield result
            elif _key(trial) in self.positions and self.holders.get(self._name(trial)) == number:
                position = self.positions[_key(trial)]
                yield result if position == trial.position else replace(result, trial=replace(trial, position=position))


def _collect_cases(runs: Sequence[Run]) -> _Cases:
    """Read the cases of all runs in one pass over the results, or two where runs share a dataset."""
    orders, size = [], 0
    for run in runs:
        order: list[str] = []
        for result in run.results:
            size += 1
            if not order or order[-1] != result.trial.dataset:
                order.append(result.trial.dataset)
        orders.append(order)
    having = Counter(name for order in orders for name in set(order))
    found = _Cases(orders=orders, shared=frozenset(name for name, n in having.items() if n > 1))
    for number, run in enumerate(runs):
        if not found.shared.isdisjoint(orders[number]):
            found.register(number, run)
    found.size = size - found.duplicates
    return found


class _Results(Collection[Result]):
    """The results of all runs, grouped by dataset."""

    def __init__(self, runs: Sequence[Run], found: _Cases) -> None:
        self._runs = runs
        self._found = found
        self._order = _one_order(found.orders)

    def __len__(self) -> int:
        return self._found.size

    def __contains__(self, item: object) -> bool:
        return any(result == item for result in self)

    def __iter__(self) -> Iterator[Result]:
        parts = [self._found.of(number, run.results) for number, run in enumerate(self._runs)]
        if self._order is None:  # the runs have different dataset orders, so sort all results
            datasets = list(dict.fromkeys(chain(*self._found.orders)))
            yield from sorted(chain(*parts), key=lambda result: datasets.index(result.trial.dataset))
            return
        groups = [groupby(part, key=lambda result: result.trial.dataset) for part in parts]
        fronts = [next(group, None) for group in groups]
        for dataset in self._order:
            for number, group in enumerate(groups):
                front = fronts[number]
                if front is not None and front[0] == dataset:
                    yield from front[1]
                    fronts[number] = next(group, None)


def _one_order(orders: Sequence[Sequence[str]]) -> list[str] | None:
    """Return an order of the datasets that agrees with every run; None if there is none.

    >>> _one_order([["a", "c"], ["a", "b", "c"]]), _one_order([["a", "b"], ["b", "a"]]), _one_order([["a", "b", "a"]])
    (['a', 'b', 'c'], None, None)
    """
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys(chain(*orders)))}
    if all(ranks[before] < ranks[after] for order in orders for before, after in pairwise(order)):
        return list(ranks)
    graph: dict[str, set[str]] = {name: set() for name in ranks}
    for before, after in (pair for order in orders for pair in pairwise(order)):
        graph[after].add(before)
    try:
        return [*TopologicalSorter(graph).static_order()]
    except CycleError:
        return None


def _key(trial: Trial) -> Key:
    return trial.dataset, trial.case.id, trial.case.fingerprint


def _join_texts(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, texts)))


def common_value(runs: Sequence[Run], of: Callable[[Run], str]) -> str:
    """Return a value that all runs share; empty if they differ."""
    return of(runs[0]) if len({of(run) for run in runs}) == 1 else ""


def _latest(runs: Sequence[Run]) -> str | None:
    ends = [run.finished for run in runs if run.finished is not None]
    return max(ends) if len(ends) == len(runs) else None


def _datasets(runs: Sequence[Run], found: _Cases, *, complete: bool) -> tuple[DatasetInfo, ...]:
    """Return every dataset once. The rows of a shared dataset are known only once all runs are complete."""
    infos: dict[str, DatasetInfo] = {}
    alike = len({(run.repeat, run.target) for run in runs}) == 1
    for info in (info for run in runs for info in run.datasets):
        first = infos.setdefault(info.name, info)
        if first is not info:
            rows = len(found.used_positions[info.name]) if complete and info.name in found.shared else None
            infos[info.name] = replace(first, rows=rows, path=first.path or info.path)
        elif not (complete or alike):
            infos[info.name] = replace(info, rows=None)
    return tuple(infos.values())


def _metrics(runs: Sequence[Run], found: _Cases) -> tuple[tuple[Metric, ...], list[str]]:
    """Return every metric once, and the names of metrics that the runs define differently for the same dataset.

    Where metrics with one name differ, each dataset keeps its own; a shared dataset keeps that of the first run.
    """
    by_name: dict[str, dict[str, Metric]] = {}
    differing: dict[str, None] = {}
    for run, order in zip(runs, found.orders, strict=True):
        named = [info.name for info in run.datasets] + [metric.dataset for metric in run.metrics if metric.dataset]
        for dataset in dict.fromkeys([*named, *order]) or [""]:
            for name, metric in metrics_for(run.metrics, dataset).items():
                bare = replace(metric, dataset="")
                if by_name.setdefault(name, {}).setdefault(dataset, bare) != bare:
                    differing[name] = None
    metrics: list[Metric] = []
    for of in by_name.values():
        alike = len(set(of.values())) == 1
        metrics += [*of.values()][:1] if alike else [replace(metric, dataset=name) for name, metric in of.items()]
    return tuple(metrics), [*differing]


def merged_versions(runs: Sequence[Run]) -> Mapping[str, str]:
    """Return the software versions of all runs."""
    names = dict.fromkeys(name for run in runs for name in run.versions)
    return {name: _join_texts(run.versions.get(name, "") for run in runs) for name in names}


def _notes(runs: Sequence[Run], found: _Cases, differing: Sequence[str]) -> tuple[str, ...]:
    ids = [f"{run.id}{'' if run.status == 'complete' else f' ({run.status})'}" for run in runs]
    notes = [f"Merged from {len(runs)} runs: {', '.join(ids)}."]
    if found.duplicates:
        occur = "occurs" if found.duplicates == 1 else "occur"
        notes.append(f"{count(found.duplicates, 'trial')} {occur} in several runs; the first occurrence counts.")
    if any(run.gate != runs[0].gate for run in runs):
        notes.append("The runs had different gates, so no gate is applied.")
    if len({run.embedder for run in runs if run.embedder}) > 1:
        notes.append("The runs used different embedding models or modes, so their similarities are not comparable.")
    notes += [f"The runs describe {name} differently; the description of the first run is shown." for name in differing]
    return tuple(dict.fromkeys((*own_notes(runs), *notes)))
