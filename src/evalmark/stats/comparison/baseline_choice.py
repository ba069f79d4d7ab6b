"""Which earlier runs a run can be held against, and which one where nobody says."""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from evalmark.core.values.run import Run
from evalmark.stats.inference.argument_checks import check_arguments


@check_arguments
def choose_baseline(run: Run, runs: Iterable[Run]) -> Run | None:
    """The run that another is held against where nobody names one; None where there is none.

    It is the newest that came before it with the same name, the same suite and the same datasets, and that was complete
    with every case asked. For a run that leaves out cases itself, another one that does will do too; for a shard, the same shard. `runs` are those of a
    store, the newest first; results are not looked at, so the targets may differ.
    """
    if not (run.name or run.suite or run.datasets):  # nothing says what it is a run of
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
    """The runs before one that share a dataset with it, the newest first, whatever became of them."""
    datasets = _datasets(run)
    return (one for one in _before(run, runs) if datasets & _datasets(one))


@check_arguments
def is_complete_run(run: Run) -> bool:
    """Whether every case was asked: what a part of them says hides the others."""
    stopped_early = run.until_decided is not None and run.until_decided.outcome is not None
    return run.status == "complete" and not run.is_part and not stopped_early


@check_arguments
def is_same_suite(run: Run, other: Run) -> bool:
    """By name and file; the folder does not count, as it is another one on another machine."""
    return run.name == other.name and PurePath(run.suite).name == PurePath(other.suite).name


def _is_part(one: Run, run: Run) -> bool:
    return run.is_part and one.is_part and one.status == "complete" and str(one.shard) == str(run.shard)


def _datasets(run: Run) -> frozenset[str]:
    return frozenset(info.name for info in run.datasets)


def _before(run: Run, runs: Iterable[Run]) -> Iterator[Run]:
    """The runs behind one in the order of a store; all of them where it is not kept yet."""
    newer, left = [], iter(runs)
    for one in left:
        if one.id == run.id:
            yield from left  # no more of them are read than somebody asks for
            return
        newer.append(one)
    yield from newer
