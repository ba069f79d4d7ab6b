"""Changes of listed runs since the run before each, computed in the background."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.run import Run
from evalmark.stats.comparison.baseline_choice import choose_baseline
from evalmark.stats.comparison.change import Outcome
from evalmark.stats.comparison.compare import compare
from evalmark.stats.comparison.scoring_rules import have_same_rules

from .background import Task, YieldingReader
from .cache import RecentCache
from .store_view import RunLine, StoreView

_KEPT = 1_000
"""Cached changes of finished runs."""
_SEARCHED_RUNS = 2_000
"""Newest runs searched for the previous one."""
TESTED = 2_000
"""Most trials of two runs that are compared for a list; beyond, only shares are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """A run's change since the previous run."""

    baseline: str
    """Id of the previous run."""
    outcome: Outcome | None
    """Outcome of the comparison; None if it is too large for a list."""
    points: float | None
    """Change of the pass rate in percentage points; None without common cases."""
    n: int
    """Number of common cases or trials."""
    decided_by: str = ""
    """The metric that is better or worse, where it is not the pass rate."""
    is_one_rule: bool = True
    """Whether both runs use the same scoring rules, as far as checked."""


class RunChanges:
    """Computes each change once, in one thread per list."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._known = RecentCache[tuple[str | None, ...], RunChange | None](_KEPT)

    def of(self, lines: Sequence[RunLine], runs: int) -> Mapping[str, RunChange] | None:
        """Return changes by run id; None while being computed.

        Running runs and runs without a previous one have none.
        """
        settled = [line for line in lines if line.run.status != "running"]
        known = {key[:2] for key in self._known}
        new = [line for line in settled if (line.run.id, line.run.finished) not in known]
        task = Task(
            kind="changes",
            names=tuple(line.run.id for line in settled),
            state=(runs, [(line.run.status, line.run.finished) for line in settled]),
            trials=sum(line.trials for line in new),
        )
        return self._view.figures.result(task, lambda yielding: self._all(settled, yielding))

    def _all(self, lines: Sequence[RunLine], yielding: YieldingReader) -> Mapping[str, RunChange]:
        recent = list(islice(self._view.every_run(), _SEARCHED_RUNS))
        ids = {run.id for run in recent}
        changes = {
            line.run.id: self._change(line.run, choose_baseline(line.run, recent), yielding)
            for line in lines
            if line.run.id in ids
        }
        return {run: change for run, change in changes.items() if change is not None}

    def _change(self, run: Run, baseline: Run | None, yielding: YieldingReader) -> RunChange | None:
        earlier = () if baseline is None else (baseline.id, baseline.finished)
        return self._known.find(
            (run.id, run.finished, *earlier), lambda: _change_or_none(self._view, run, baseline, yielding)
        )


def _change_or_none(view: StoreView, run: Run, baseline: Run | None, yielding: YieldingReader) -> RunChange | None:
    try:
        return None if baseline is None else _change(view, run, baseline, yielding)
    except EvalmarkError:  # a result is damaged, or a run was deleted: its own page shows the error
        return None


def _change(view: StoreView, run: Run, baseline: Run, yielding: YieldingReader) -> RunChange:
    sides = view.lines([run, baseline])
    if sum(side.trials for side in sides) > TESTED:
        if not have_same_rules(run, baseline):  # the store counted each run by its own rules
            return RunChange(baseline=baseline.id, outcome=None, points=None, n=0, is_one_rule=False)
        counted = view.store.shared_trials(run, baseline, counted_only=any(side.left_out != 0 for side in sides))
        return RunChange(baseline=baseline.id, outcome=None, points=counted.points, n=counted.n)
    comparison = compare(yielding(run), yielding(baseline))
    only = comparison.targets[0] if len(comparison.targets) == 1 else None  # each target has a difference of its own
    overall = None if only is None else only.overall.difference
    value = None if overall is None else overall.value
    return RunChange(
        baseline=baseline.id,
        outcome=comparison.outcome,
        points=None if value is None else 100 * value,
        n=0 if overall is None else overall.n,
        decided_by=only.deciding.name if only and comparison.outcome in ("better", "worse") else "",
    )
