"""Comparisons of runs, computed in background threads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.run import Run
from evalmark.reports.html.case_scatter import CasePlaces, case_places
from evalmark.reports.text.best_target import BestTargetText, best_target_text
from evalmark.reports.text.comparison import OVERALL
from evalmark.reports.viewer.urls.case_query import CaseQuery
from evalmark.runs.execution import baseline
from evalmark.runs.execution.baseline import LAST_GREEN, Baseline
from evalmark.stats.comparison.baseline_choice import choose_baseline, comparable_runs
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.compare import compare_by_case, compare_several
from evalmark.stats.comparison.compared_cases import CASE_OUTCOMES, CaseOutcome, ComparedCases, RankedCase, rank_cases
from evalmark.stats.comparison.trade_offs import Candidate, TradeOffs, trade_offs
from evalmark.storage.queries.filter import ResultFilter
from evalmark.storage.queries.pages import TargetCase

from .background import Task, YieldingReader
from .store_view import StoreView

_OFFERED = 50
"""Most runs to choose from."""
MOST = 40_000
"""Most trials of two runs that are compared automatically; more take minutes."""


@dataclass(frozen=True, kw_only=True)
class PreparedComparison:
    """A comparison with its cases."""

    comparison: Comparison
    cases: tuple[ComparedCases, ...]
    flipped: Mapping[CaseOutcome, frozenset[int]]
    """Numbers of the results whose cases became worse or better."""
    _sorted: dict[str | None, Sequence[RankedCase]] = field(default_factory=dict)
    _places: dict[tuple[str, int], CasePlaces | None] = field(default_factory=dict)

    def changed_cases(self, change: CaseOutcome) -> int:
        """Count the cases that became worse or better on any target."""
        flips = (one for each in self.comparison.targets for one in (each.worse if change == "worse" else each.better))
        return len({(flip.dataset, flip.case) for flip in flips})

    @property
    def changed_by(self) -> Sequence[str]:
        """The metrics that tell which cases changed; empty if all of them flipped between pass and fail."""
        names = dict.fromkeys(one.deciding.name for one in self.comparison.targets if one.moved)
        return [name or OVERALL for name in names] if any(names) else []

    def ranked_cases(self, metric: str | None) -> Sequence[RankedCase]:
        """List the cases in display order, sorted once per metric."""
        if metric not in self._sorted:
            self._sorted[metric] = rank_cases(self.cases, metric)
        return self._sorted[metric]

    def places(self, metric: str, target: int) -> CasePlaces | None:
        """Count the cases of a target by their scores before and now, once per metric."""
        if (metric, target) not in self._places:
            self._places[metric, target] = case_places(self.cases[target], metric)
        return self._places[metric, target]


def prepared_comparison(
    view: StoreView, run: Run, baseline: Run, targets: tuple[str, str] | None = None
) -> PreparedComparison | None:
    """Compare a run, or one of its targets, with a baseline; None while being computed.

    Raises:
        EvalmarkError: a result is damaged, or a run was deleted.
    """
    sides = [run] if baseline.id == run.id else [run, baseline]
    task = view.task("compared", sides, *(targets or ()))

    def work(yielding: YieldingReader) -> PreparedComparison:
        comparison, cases = compare_by_case(yielding(run), yielding(baseline), targets=targets)
        comparison = replace(comparison, rescore=comparison.rescore + view.flags) if comparison.rescore else comparison
        return PreparedComparison(comparison=comparison, cases=cases, flipped=_flipped(view, run, cases))

    return view.figures.result(task, work)


def prepared_comparisons(view: StoreView, run: Run, baselines: Sequence[Run]) -> tuple[Comparison, ...] | None:
    """Compare a run with several baselines as one family of tests; None while being computed.

    Raises:
        EvalmarkError: a result is damaged, or a run was deleted.
    """
    passes = [len(baselines), *(1 for _ in baselines)]
    task = view.task("several baselines", [run, *baselines], passes=passes)

    def work(yielding: YieldingReader) -> tuple[Comparison, ...]:
        found = compare_several(yielding(run), [yielding(one) for one in baselines])
        return tuple(replace(one, rescore=one.rescore + view.flags) if one.rescore else one for one in found)

    return view.figures.result(task, work)


def prepared_trade_offs(view: StoreView, runs: Sequence[Run]) -> TradeOffs | None:
    """Compare quality, cost and latency of all targets of the runs; None while being computed.

    Raises:
        EvalmarkError: a result is damaged, or a run was deleted.
    """
    task = view.task("trade-offs", runs, passes=[len(runs)] * len(runs))
    prices = view.store.recordings.prices

    def work(yielding: YieldingReader) -> TradeOffs:
        return trade_offs([Candidate(name=run.id, run=yielding(run), prices=prices) for run in runs])

    return view.figures.result(task, work)


def best_of_run(view: StoreView, run: Run, trials: int, *, is_busy: bool) -> tuple[BestTargetText | None, bool]:
    """Say which of several targets of a finished run is the best, and whether that is still being computed."""
    if run.status == "running" or ", " not in run.target or trials > MOST:
        return None, False
    if is_busy:
        return None, True
    try:
        found = prepared_trade_offs(view, [run])
    except EvalmarkError:  # results of a single target, or a damaged one, which the figures of the page report
        return None, False
    return (None, True) if found is None else (best_target_text(found), False)


@dataclass(frozen=True, kw_only=True)
class EarlierComparison:
    """A run and its default baseline."""

    near: Sequence[Run] = ()
    """Runs to choose from, nearest first."""
    earlier: Run | None
    prepared: PreparedComparison | None = None
    """None while being computed, or if it is not computed."""
    is_requested: bool = False
    """Whether it is being computed; not for running or very large runs."""
    trouble: str = ""


def earlier_comparison(view: StoreView, run: Run, most: int = MOST, *, is_busy: bool = False) -> EarlierComparison:
    """Compare a run with the previous one for its page; waits if other work on the run is pending."""
    recent = list(view.back_from(run))
    compared = _against(view, run, choose_baseline(run, recent), most, is_busy=is_busy)
    return replace(compared, near=list(islice(comparable_runs(run, recent), _OFFERED)))


def nearest_comparison(view: StoreView, run: Run) -> EarlierComparison:
    """The same without the runs to choose from."""
    return _against(view, run, choose_baseline(run, view.back_from(run)), MOST)


def _against(view: StoreView, run: Run, earlier: Run | None, most: int, *, is_busy: bool = False) -> EarlierComparison:
    if earlier is None or run.status == "running" or sum(view.trials([run, earlier])) > most:
        return EarlierComparison(earlier=earlier)
    if is_busy:
        return EarlierComparison(earlier=earlier, is_requested=True)
    try:
        return EarlierComparison(earlier=earlier, prepared=prepared_comparison(view, run, earlier), is_requested=True)
    except EvalmarkError as error:
        return EarlierComparison(earlier=earlier, trouble=str(error))


def only_flipped(query: CaseQuery, prepared: PreparedComparison | None) -> CaseQuery:
    """Restrict a query to cases that changed since the previous run; none while unknown."""
    if not query.changes:
        return query
    if prepared is None:
        return replace(query, conditions=replace(query.conditions, numbers=frozenset()))
    found = {name: ResultFilter(numbers=_changed(prepared, name)) for name in query.changes}
    if query.flipped:
        also = (*query.conditions.also, found[query.flipped])
        query = replace(query, conditions=replace(query.conditions, also=also))
    return query.look_up({f"flipped:{name}": one for name, one in found.items()})


def _changed(prepared: PreparedComparison, name: str) -> frozenset[int]:
    """Return the results whose cases became `worse`, `better`, or `any` of both."""
    return frozenset(n for change, numbers in prepared.flipped.items() if name in ("any", change) for n in numbers)


def baseline_of(view: StoreView, run: Run, reference: str) -> Baseline | None:
    """Return the run that a reference names; None while `last-green` is being computed.

    Raises:
        StoreError: the run does not exist.
    """
    if reference != LAST_GREEN:
        return baseline.baseline_of(view.store, reference, run)
    moment = view.store.progress()
    task = Task(
        kind="last green",
        names=(run.id,),
        state=(moment.runs, moment.newest, [one.run for one in moment.running]),
        trials=max((line.trials for line in view.lines(view.store.runs(1))), default=0),
    )
    return view.figures.result(task, lambda _: baseline.baseline_of(view.store, reference, run))


def case_of(ranked: RankedCase, *, before: bool) -> TargetCase:
    """Identify the results of a case in the run or the baseline."""
    change = ranked.cases.change
    source, case = ranked.cases.pairs[ranked.case][before]
    dataset, mode = ranked.cases.sources[before][source]
    return TargetCase(dataset, case, change.against if before else change.target, mode)


def _flipped(view: StoreView, run: Run, cases: Sequence[ComparedCases]) -> Mapping[CaseOutcome, frozenset[int]]:
    numbers: dict[CaseOutcome, frozenset[int]] = {}
    for change in CASE_OUTCOMES[:2]:
        changed = [
            TargetCase(dataset, flip.case, one.change.target, mode)
            for one in cases
            for flip in (one.change.worse if change == "worse" else one.change.better)
            for dataset, mode in [one.sources[0][flip.dataset]]
        ]
        numbers[change] = frozenset(number for several in view.browsing(run).numbers(changed) for number in several)
    return numbers
