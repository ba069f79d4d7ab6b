"""Chooses the earlier run to compare a run with."""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from evalmark.core.values.run import Run
from evalmark.stats.inference.argument_checks import check_arguments


@check_arguments
def choose_baseline(run: Run, runs: Iterable[Run]) -> Run | None:
    """Return the default baseline of a run; None if there is none.

    It is the newest run that started earlier, with the same name, suite and datasets that is complete and asked every case. A
    run that leaves out cases may be compared with another one that does, and a shard with the same shard. `runs`
    are those of a store, the newest first. Results are not read, so the targets may differ.
    """
    if not (run.name or run.suite or run.datasets):  # without a name or suite, nothing identifies its runs
        return None
    datasets = _datasets(run)
    return next(
        (
            one
            for one in _before(run, runs)
            if is_same_suite(one, run) and _datasets(one) == datasets and (is_complete_run(one) or _is_part(one, run))
        ),
        None,
    )


@check_arguments
def comparable_runs(run: Run, runs: Iterable[Run]) -> Iterator[Run]:
    """Return the earlier runs that share a dataset with a run, the newest first, whatever their status."""
    datasets = _datasets(run)
    return (one for one in _before(run, runs) if datasets & _datasets(one))


@check_arguments
def runs_of_series(run: Run, runs: Iterable[Run]) -> list[Run]:
    """Return the complete runs of the same suite and name, the oldest first; their results are not read.

    Args:
        run: A run of the suite; without a name or a suite it has no series.
        runs: The runs of a store, the newest first.
    """
    if not (run.name or run.suite):
        return []
    return [one for one in runs if is_same_suite(one, run) and is_complete_run(one)][::-1]


@check_arguments
def is_complete_run(run: Run) -> bool:
    """Return whether every case was asked."""
    stopped_early = run.until_decided is not None and run.until_decided.outcome is not None
    return run.status == "complete" and not run.is_part and not stopped_early


@check_arguments
def is_same_suite(run: Run, other: Run) -> bool:
    """Return whether two runs have the same suite name and file name; folders differ between machines."""
    return run.name == other.name and PurePath(run.suite).name == PurePath(other.suite).name


def suite_of(run: Run) -> str:
    """Return what runs of the same suite share as one text: the names of the suite and of its file.

    >>> suite_of(Run(id="a", name="library", created="2026-11-21", suite="evals/suite.yaml"))
    'library (suite.yaml)'
    """
    file = PurePath(run.suite).name
    return f"{run.name} ({file})" if run.name and file else run.name or file


def _is_part(one: Run, run: Run) -> bool:
    return run.is_part and one.is_part and one.status == "complete" and str(one.shard) == str(run.shard)


def _datasets(run: Run) -> frozenset[str]:
    return frozenset(info.name for info in run.datasets)


def _before(run: Run, runs: Iterable[Run]) -> Iterator[Run]:
    """Yield the runs that are older than a run; all of them if the run is not stored yet."""
    newer, left = [], iter(runs)
    for one in left:
        if one.id == run.id:
            yield from left  # reads no more runs than needed
            return
        newer.append(one)
    yield from newer
