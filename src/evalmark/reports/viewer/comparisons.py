"""Comparisons of runs, computed in background threads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.run import Run
from evalmark.reports.viewer.urls.queries import CaseQuery
from evalmark.runs.execution import baseline
from evalmark.runs.execution.baseline import LAST_GREEN, Baseline
from evalmark.stats.comparison.baseline_choice import choose_baseline, comparable_runs
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.compare import compare_by_case
from evalmark.stats.comparison.compared_cases import CASE_OUTCOMES, CaseOutcome, ComparedCases, RankedCase, rank_cases
from evalmark.storage.queries.pages import TargetCase

from .background import Task
from .store_view import StoreView

_KEPT = 4
"""Comparisons kept in memory; some megabytes each for ten thousand cases."""
_OFFERED = 50
"""Most runs to choose from."""
MOST = 40_000
"""Most trials of two runs that are compared automatically; more take minutes."""


@dataclass(frozen=True, kw_only=True)
class PreparedComparison:
    """A comparison with its cases."""

    found: Comparison
    cases: tuple[ComparedCases, ...]
    flipped: Mapping[CaseOutcome, frozenset[int]]
    """Numbers of the results whose cases became worse or better."""
    _sorted: dict[str | None, Sequence[RankedCase]] = field(default_factory=dict)

    def telling(self, metric: str | None) -> Sequence[RankedCase]:
        """List the cases in display order, sorted once per metric."""
        if metric not in self._sorted:
            self._sorted[metric] = rank_cases(self.cases, metric)
        return self._sorted[metric]


def prepared_comparison(
    view: StoreView, run: Run, baseline: Run, targets: tuple[str, str] | None = None
) -> PreparedComparison | None:
    """Compare a run, or one of its targets, with a baseline; None while being computed.

    Raises:
        EvalmarkError: a result is damaged, or a run was deleted.
    """
    sides = [run] if baseline.id == run.id else [run, baseline]
    trials = [line.trials for line in view.lines(sides)]
    about = Task(
        kind="compared",
        names=(run.id, baseline.id, *(targets or ())),
        state=[(one.status, one.finished, n) for one, n in zip(sides, trials, strict=True)],
        trials=sum(trials),
        kept=_KEPT,
    )

    def work(patiently: Callable[[Run], Run]) -> PreparedComparison:
        found, cases = compare_by_case(patiently(run), patiently(baseline), targets=targets)
        found = replace(found, rescore=found.rescore + view.flags) if found.rescore else found
        return PreparedComparison(found=found, cases=cases, flipped=_flipped(view, run, cases))

    return view.figures.found(about, work)


@dataclass(frozen=True, kw_only=True)
class EarlierComparison:
    """A run and its default baseline."""

    near: Sequence[Run] = ()
    """Runs to choose from, nearest first."""
    earlier: Run | None
    held: PreparedComparison | None = None
    """None while being computed, or if it is not computed."""
    is_asked: bool = False
    """Whether it is being computed; not for running or very large runs."""
    trouble: str = ""


def earlier_comparison(view: StoreView, run: Run, most: int = MOST, *, is_busy: bool = False) -> EarlierComparison:
    """Compare a run with the previous one for its page; waits if other work on the run is pending."""
    recent = list(view.back_from(run))
    found = _against(view, run, choose_baseline(run, recent), most, is_busy=is_busy)
    return replace(found, near=list(islice(comparable_runs(run, recent), _OFFERED)))


def nearest_comparison(view: StoreView, run: Run) -> EarlierComparison:
    """The same without the runs to choose from."""
    return _against(view, run, choose_baseline(run, view.back_from(run)), MOST)


def _against(view: StoreView, run: Run, earlier: Run | None, most: int, *, is_busy: bool = False) -> EarlierComparison:
    if earlier is None or run.status == "running" or sum(line.trials for line in view.lines([run, earlier])) > most:
        return EarlierComparison(earlier=earlier)
    if is_busy:
        return EarlierComparison(earlier=earlier, is_asked=True)
    try:
        return EarlierComparison(earlier=earlier, held=prepared_comparison(view, run, earlier), is_asked=True)
    except EvalmarkError as error:
        return EarlierComparison(earlier=earlier, trouble=str(error))


def only_flipped(asked: CaseQuery, held: PreparedComparison | None) -> CaseQuery:
    """Restrict a query to cases that changed since the previous run; none while unknown."""
    if not asked.flipped:
        return asked
    known = () if held is None else held.flipped.items()
    chosen = frozenset(n for went, numbers in known if asked.flipped in ("any", went) for n in numbers)
    numbers = asked.wanted.numbers
    return replace(asked, wanted=replace(asked.wanted, numbers=chosen if numbers is None else chosen & numbers))


def baseline_of(view: StoreView, run: Run, reference: str) -> Baseline | None:
    """Return the run that a reference names; None while `last-green` is being computed.

    Raises:
        StoreError: there is no such run.
    """
    if reference != LAST_GREEN:
        return baseline.baseline_of(view.store, reference, run)
    moment = view.store.progress()
    about = Task(
        kind="last green",
        names=(run.id,),
        state=(moment.runs, moment.newest, [one.run for one in moment.running]),
        trials=max((line.trials for line in view.lines(view.store.runs(1))), default=0),
    )
    return view.figures.found(about, lambda patiently: baseline.baseline_of(view.store, reference, run))


def case_of(place: RankedCase, *, before: bool) -> TargetCase:
    """Identify the results of a case in the run or the baseline."""
    change = place.cases.change
    source, case = place.cases.pairs[place.case][before]
    dataset, mode = place.cases.sources[before][source]
    return TargetCase(dataset, case, change.against if before else change.target, mode)


def _flipped(view: StoreView, run: Run, cases: Sequence[ComparedCases]) -> Mapping[CaseOutcome, frozenset[int]]:
    found: dict[CaseOutcome, frozenset[int]] = {}
    for went in CASE_OUTCOMES[:2]:
        every = [
            TargetCase(dataset, flip.case, one.change.target, mode)
            for one in cases
            for flip in (one.change.worse if went == "worse" else one.change.better)
            for dataset, mode in [one.sources[0][flip.dataset]]
        ]
        found[went] = frozenset(number for several in view.browsing(run).numbers(every) for number in several)
    return found
