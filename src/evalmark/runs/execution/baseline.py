"""The earlier run that a run is compared with."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile, islice
from pathlib import PurePath
from typing import TYPE_CHECKING

from evalmark.core.errors import NotFoundError
from evalmark.core.values.run import Run
from evalmark.stats.comparison.baseline_choice import is_complete_run, is_same_suite
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise
from evalmark.storage.results.run_ids import split_reference

from .revision import is_ancestor, revision

if TYPE_CHECKING:
    from evalmark.storage.store.store import Store

LAST_GREEN = "last-green"
"""The newest run of all cases of a suite whose gate passed, made from the commit that is checked out or from one of its ancestors."""
NO_BASELINE = "none"
"""No baseline, even if the suite names one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The run to compare with, or why there is none."""

    run: Run | None = None
    reason: str = ""
    """Why there is none, as one sentence; empty if no baseline was named."""


def baseline_of(store: "Store", reference: str | None, of: Run) -> Baseline:
    """Return the run that a reference names: an id, `last`, `last~1`, or `last-green`; none for `none` and None.

    `of` is the run to compare with the baseline; only its name, suite and id are used. `last-green` is a run before it.
    If it is not stored yet, `last` is the newest run of its suite.

    Raises:
        StoreError: there is no such run.
    """
    if reference is None or reference == NO_BASELINE:
        return Baseline()
    if reference != LAST_GREEN:
        return Baseline(run=_of_this_suite(store, reference, of) or store.run(reference))
    green = [run for run in _earlier(store, of) if is_complete_run(run) and is_same_suite(run, of)]
    is_known = bool(revision())

    @cache
    def is_behind(commit: str) -> bool:
        return not is_known or is_ancestor(commit) is True

    found = next((run for run in green if is_behind(run.revision) and is_green(run)), None)
    if found is not None:
        return Baseline(run=found)
    where = " and that was made from a commit that leads to this one" if is_known else ""
    return Baseline(
        reason=f"There is no earlier complete run of {of.name or of.suite!r} whose gate passed{where}, so there is nothing to compare with."
    )


def baseline_of_suite(store: "Store", reference: str, of: Run) -> Baseline:
    """Return the run that a stored run was compared with, by the reference in its suite: `last` is the run before it.

    Raises:
        StoreError: there is no such run.
    """
    base, back = split_reference(reference)
    if base != "last":
        return baseline_of(store, reference, of)
    before = (run for run in _earlier(store, of) if is_same_suite(run, of))
    return Baseline(run=next(islice(before, back, None), None))


def _of_this_suite(store: "Store", reference: str, of: Run) -> Run | None:
    """Return the run that `last` or `last~N` means before a run of a suite; None if no suite is known or for other references."""
    base, back = split_reference(reference)
    if base != "last" or of.id or not (of.name or of.suite):
        return None
    if (found := next(islice((run for run in store.runs() if _is_alike(run, of)), back, None), None)) is None:
        raise NotFoundError(
            f"There is no run {reference!r} of {of.name or of.suite!r} yet, so there is nothing to compare with. "
            "Use --baseline none for the first run, or last-green, which may be missing."
        )
    return found


def _is_alike(run: Run, of: Run) -> bool:
    """Return whether the suites have the same name or the same file name: a suite may be renamed or moved."""
    file = PurePath(of.suite).name
    return run.name == of.name or (file != "" and PurePath(run.suite).name == file)


def _earlier(store: "Store", of: Run) -> Iterator[Run]:
    """Yield the runs before a run, the newest first; all runs if it is not stored yet."""
    runs = store.runs()
    if not any(run.id == of.id for run in runs):
        yield from runs
        return
    after = dropwhile(lambda run: run.id != of.id, runs)
    next(after)
    yield from after


def is_green(run: Run) -> bool:
    """Tell whether the gate of a run passed; a run without metrics has passed nothing."""
    verdict = apply_gate(summarise(run), run.gate)
    return verdict.outcome == "pass" and verdict.scored
