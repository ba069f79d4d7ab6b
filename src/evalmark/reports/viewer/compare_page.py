"""The page that compares two runs: verdict, metrics and cases."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.reports.html.escaping import page_text, visible
from evalmark.reports.text.changed_cases import CaseScore, case_scores, deciding_texts
from evalmark.reports.text.comparison import OVERALL
from evalmark.reports.text.word_changes import TextPair, word_changes
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.reports.viewer.urls.queries import ComparisonQuery, parse_comparison_query
from evalmark.runs.execution.baseline import LAST_GREEN
from evalmark.stats.comparison.baseline_choice import choose_baseline, comparable_runs
from evalmark.stats.comparison.change import Flip
from evalmark.stats.comparison.compared_cases import CASE_OUTCOMES, RankedCase
from evalmark.stats.comparison.scoring_rules import ScoringRules
from evalmark.storage.queries.pages import NumberedResult

from .comparisons import PreparedComparison, baseline_of, case_of, prepared_comparison, prepared_trade_offs
from .page_context import PageContext
from .store_view import StoreView

SIZE = 20
"""Cases per page."""
MOST_PICKED = 8
"""Most runs that are compared together."""
MOST_RUNS = 300
"""Most runs in a form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A case with a result of either run."""

    ranked: RankedCase
    flip: Flip | None
    before: NumberedResult | None
    now: NumberedResult | None
    words: TextPair | None
    """Word differences of both outputs; None if one is too large."""
    scores: Sequence[CaseScore]
    reasons: Sequence[tuple[str, str]]

    @property
    def shown(self) -> NumberedResult | None:
        """The result that shows the input."""
        return self.now or self.before


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    view = context.view
    with view.figures.give_way():
        runs = view.store.runs(MOST_RUNS)
        query = parse_comparison_query(request.query_params)
        picks = _in_order(view, request.query_params.getlist("pick"), runs)
    if len(picks) > 2 and not query.run:
        return context.page(request, "compare.html", {**_several(view, picks), **_choices(query, runs, ())})
    query, message = _picked(query, picks), ""
    with view.figures.give_way():
        if not query.run:
            return context.page(request, "compare.html", {**_NOTHING, "message": message, **_choices(query, runs, ())})
        run = view.store.run(query.run)
        recent = list(view.back_from(run))
        baseline, message = _baseline(view, run, query, recent)
    prepared, trouble = None, ""
    if baseline is not None:
        try:
            prepared = prepared_comparison(view, run, baseline, query.targets)
        except EvalmarkError as error:
            message, trouble = "", str(error)
    values = {"run": run, "baseline": baseline, "prepared": prepared, "message": message, "trouble": trouble}
    if prepared is not None and baseline is not None:
        with view.figures.give_way():
            values |= case_values(view, (run, baseline), prepared, query)
    return context.page(request, "compare.html", {**_NOTHING, **values, **_choices(query, runs, recent)})


_NOTHING: Mapping[str, Any] = {"run": None, "baseline": None, "prepared": None, "trouble": "", "rows": (), "picked": ()}


def _several(view: StoreView, picks: Sequence[str]) -> Mapping[str, Any]:
    """Values of the template for more than two runs: quality against cost and latency."""
    values: dict[str, Any] = {
        **_NOTHING,
        "message": "",
        "picked": [view.store.run(name) for name in picks[:MOST_PICKED]],
    }
    if len(picks) > MOST_PICKED:
        values["message"] = f"{len(picks)} runs were chosen; the newest {MOST_PICKED} are compared."
    try:
        return values | {"trade_offs": prepared_trade_offs(view, values["picked"])}
    except EvalmarkError as error:
        return values | {"trouble": str(error), "trade_offs": None}


def case_values(
    view: StoreView, runs: tuple[Run, Run], prepared: PreparedComparison, query: ComparisonQuery
) -> Mapping[str, Any]:
    """Values of the template for the cases."""
    metric = _metric(query.metric)
    ranked = [case for case in prepared.telling(metric) if query.of in ("", case.cases.change.target)]
    filtered = [case for case in ranked if query.went in ("", case.went)]
    paging = Paging(total=len(filtered), size=SIZE, requested=query.page)
    changes = [case.went for case in ranked]
    return {
        "rows": _rows(view, runs, prepared.comparison.rules, paging.part(filtered)),
        "all": len(ranked),
        "counts": [(change, changes.count(change)) for change in CASE_OUTCOMES],
        "total": len(filtered),
        "page": paging.page,
        "pages": paging.pages,
        "first": paging.start + 1,
        "metrics": list(dict.fromkeys(counted.name for cases in prepared.cases for counted in cases.change.changes)),
        "sorted_by": metric if metric is not None else prepared.cases[0].change.deciding.name if prepared.cases else "",
        "compared_targets": [cases.change.target for cases in prepared.cases],
        "several_datasets": len({name for cases in prepared.cases for name in cases.sources[0]}) > 1,
    }


def _metric(name: str) -> str | None:
    """Metric to sort by: empty for pass or fail, None for the deciding metric."""
    return "" if name == OVERALL else name or None


def _rows(
    view: StoreView, runs: tuple[Run, Run], rules: ScoringRules, ranked: Sequence[RankedCase]
) -> list[ComparedRow]:
    """Each case with its results, both scored by the newer run's rules."""
    run, baseline = runs
    now = view.browsing(run).results_of_cases([case_of(case, before=False) for case in ranked])
    before = view.browsing(baseline).results_of_cases([case_of(case, before=True) for case in ranked])
    judges = (rules.baseline, rules.run)
    return [
        _row(
            case,
            *(tuple(_under(judge, numbered) for numbered in side) for judge, side in zip(judges, sides, strict=True)),
        )
        for case, *sides in zip(ranked, before, now, strict=True)
    ]


def _under(judge: Callable[[Result], Result], numbered: NumberedResult) -> NumberedResult:
    if numbered.is_cut:  # the scores are missing
        return numbered
    judged = judge(numbered.result)
    return numbered if judged is numbered.result else replace(numbered, verdict=judged.verdict, result=judged)


def _row(ranked: RankedCase, before: Sequence[NumberedResult], now: Sequence[NumberedResult]) -> ComparedRow:
    cases, case = ranked.cases, ranked.case
    flip = cases.flips.get(cases.pairs[case][0])
    fell = None if flip is None or flip.metric else flip.is_worse
    old, new = _showing(before, fell), _showing(now, None if fell is None else not fell)
    is_whole = old is not None and new is not None and not (old.is_cut or new.is_cut)
    return ComparedRow(
        ranked=ranked,
        flip=flip,
        before=old,
        now=new,
        words=word_changes(*map(_answer_of, (old, new))) if is_whole else None,
        scores=case_scores(cases, case),
        reasons=deciding_texts(old.result, new.result, flip.metric if flip else "")
        if old is not None and new is not None
        else (),
    )


def _showing(several: Sequence[NumberedResult], passes: bool | None) -> NumberedResult | None:
    """Choose the repeat that shows the change, else the first."""
    verdict = {True: "pass", False: "fail", None: ""}[passes]
    return next((numbered for numbered in several if numbered.verdict == verdict), several[0] if several else None)


def _answer_of(numbered: NumberedResult | None) -> str:
    value = None if numbered is None else numbered.result.output.value
    return "" if value is None else visible(page_text(value).shown)


def _in_order(view: StoreView, picks: Sequence[str], newest: Sequence[Run]) -> list[str]:
    runs = newest if {run.id for run in newest}.issuperset(picks) else view.every_run()
    return [run.id for run in runs if run.id in picks]


def _picked(query: ComparisonQuery, chosen: Sequence[str]) -> ComparisonQuery:
    """Return the query for one or two chosen runs."""
    if not chosen or query.run:
        return query
    return replace(query, run=chosen[0], baseline=chosen[1] if chosen[1:] else "")


def _baseline(view: StoreView, run: Run, query: ComparisonQuery, recent: Sequence[Run]) -> tuple[Run | None, str]:
    """Return the baseline, or why there is none; `recent` are the run and earlier ones."""
    if query.baseline:
        found_baseline = baseline_of(view, run, query.baseline)
        if found_baseline is None:
            return None, "Looking for the last green run."
        return found_baseline.run, found_baseline.reason or (
            "" if found_baseline.run else "No run was named to compare with."
        )
    if query.against:
        return run, ""
    earlier = choose_baseline(run, recent)
    return earlier, "" if earlier else "There is no earlier complete run of the same suite and datasets; choose one."


def _choices(query: ComparisonQuery, runs: Sequence[Run], recent: Sequence[Run]) -> Mapping[str, Any]:
    near = list(comparable_runs(recent[0], recent))[:MOST_RUNS] if recent else []
    offered = {one.id for one in [*recent[:1], *near]}
    return {
        "query": query,
        "runs": runs,
        "near": near,
        "others": [one for one in runs if one.id not in offered],
        "last_green": LAST_GREEN,
    }
