"""The page that compares a run with a baseline, case by case, or with several."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.case_titles import case_title
from evalmark.core.errors import EvalmarkError
from evalmark.core.text import without_shared_words
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.reports.html.case_scatter import draw_case_places
from evalmark.reports.html.compared_cases import ComparedCase, ComparedOutput, with_labels
from evalmark.reports.text.changed_cases import case_scores
from evalmark.reports.text.comparison import OVERALL
from evalmark.reports.viewer.urls.comparison_query import ComparisonQuery, parse_comparison_query
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.reports.viewer.urls.paths import case_path
from evalmark.runs.execution.baseline import LAST_GREEN
from evalmark.stats.comparison.baseline_choice import choose_baseline, comparable_runs
from evalmark.stats.comparison.compared_cases import CASE_OUTCOMES, CaseOutcome, RankedCase
from evalmark.stats.comparison.scoring_rules import ScoringRules
from evalmark.storage.queries.pages import NumberedResult

from .comparisons import (
    PreparedComparison,
    baseline_of,
    case_of,
    prepared_comparison,
    prepared_comparisons,
    prepared_trade_offs,
)
from .grid import run_labels
from .page_context import PageContext
from .run_page import METRICS
from .store_view import StoreView

SIZE = 20
"""Cases per page."""
MOST_PICKED = 8
"""Most runs that are compared together."""
MOST_RUNS = 300
"""Most runs in a form."""


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    view, params = context.view, request.query_params
    with view.figures.give_way():
        runs = view.store.runs(MOST_RUNS)
        query = parse_comparison_query(params)
        picks = _in_order(view, params.getlist("pick"), runs)
    named = list(dict.fromkeys(name.strip() for name in params.getlist("baseline") if name.strip()))
    if not query.run and len(picks) > 2:
        query, named = replace(query, run=picks[0]), picks[1:]
    if query.run and len(named) > 1:
        return context.page(
            request, "compare_several.html", {**_several(view, query.run, named), **_choices(query, runs, ())}
        )
    return context.page(request, "compare.html", _two(view, _picked(query, picks), runs))


_NOTHING: Mapping[str, Any] = {
    "short_targets": (),
    "run": None,
    "baseline": None,
    "prepared": None,
    "trouble": "",
    "rows": (),
}


def _two(view: StoreView, query: ComparisonQuery, runs: Sequence[Run]) -> Mapping[str, Any]:
    """Values of the template for a run and its baseline."""
    with view.figures.give_way():
        if not query.run:
            return {**_NOTHING, "message": "", **_choices(query, runs, ())}
        run = view.store.run(query.run)
        recent = list(view.back_from(run))
        baseline, message = _baseline(view, run, query, recent)
    prepared, trouble = None, ""
    if baseline is not None:
        try:
            prepared = prepared_comparison(view, run, baseline, query.targets)
        except EvalmarkError as error:
            message, trouble = "", str(error)
    short = without_shared_words(query.targets[::-1]) if query.targets else ()
    values = {"run": run, "baseline": baseline, "prepared": prepared, "message": message, "trouble": trouble}
    if prepared is not None and baseline is not None:
        with view.figures.give_way():
            values |= case_values(view, (run, baseline), prepared, query)
    return {**_NOTHING, **values, "short_targets": short, **_choices(query, runs, recent)}


def _several(view: StoreView, reference: str, named: Sequence[str]) -> Mapping[str, Any]:
    """Values of the template for a run and several baselines: each comparison, then quality against cost and latency."""
    with view.figures.give_way():
        run = view.store.run(reference)
    found = [baseline_of(view, run, name) for name in named[: MOST_PICKED - 1]]
    messages = [one.reason for one in found if one is not None and one.run is None]
    if len(named) >= MOST_PICKED:
        messages.append(f"{len(named) + 1} runs were chosen; the first {MOST_PICKED} are compared.")
    baselines = list({one.run.id: one.run for one in found if one is not None and one.run is not None}.values())
    runs = [run, *baselines]
    labels = run_labels(runs)
    values = {"run": run, "baselines": baselines, "labels": labels, "message": " ".join(messages), "trouble": ""}
    values |= {"several": None, "trade_offs": None}
    if None in found or not baselines:
        return values
    try:
        values["several"] = prepared_comparisons(view, run, baselines)
        values["trade_offs"] = found_trade_offs = prepared_trade_offs(view, runs)
    except EvalmarkError as error:
        return values | {"trouble": str(error)}
    rows = found_trade_offs.rows if found_trade_offs else ()
    return values | {"called": {row.name: row.name.replace(row.run, labels[row.run], 1) for row in rows}}


def case_values(
    view: StoreView, runs: tuple[Run, Run], prepared: PreparedComparison, query: ComparisonQuery
) -> Mapping[str, Any]:
    """Values of the template for the cases."""
    metric = _metric(query.metric)
    ranked = [case for case in prepared.ranked_cases(metric) if query.of in ("", case.cases.change.target)]
    filtered = [case for case in ranked if query.outcome in ("", case.outcome)]
    paging = Paging(total=len(filtered), size=SIZE, requested=query.page)
    changes = [case.outcome for case in ranked]
    by = metric if metric is not None else prepared.cases[0].change.deciding.name if prepared.cases else ""
    names = list(dict.fromkeys(counted.name for cases in prepared.cases for counted in cases.change.changes))
    longest = max((len(change.changes) for change in prepared.comparison.targets), default=0)
    metric_page = query.metrics or (names.index(by) if by in names else 0) // METRICS + 1
    return {
        "rows": _rows(view, runs, prepared.comparison.rules, paging.part(filtered)),
        "all": len(ranked),
        "counts": [(change, changes.count(change)) for change in CASE_OUTCOMES],
        "total": len(filtered),
        "page": paging.page,
        "pages": paging.pages,
        "first": paging.start + 1,
        "metrics": names,
        "metric_pages": Paging(total=longest, size=METRICS, requested=metric_page),
        "sorted_by": by,
        **_scatter(view, runs[0], prepared, query, by),
        "compared_targets": [cases.change.target for cases in prepared.cases],
        "several_datasets": len({name for cases in prepared.cases for name in cases.sources[0]}) > 1,
    }


def _scatter(
    view: StoreView, run: Run, prepared: PreparedComparison, query: ComparisonQuery, metric: str
) -> Mapping[str, Any]:
    """Draw the scores of each case before and now: of the chosen target, else of the first one."""
    targets = [cases.change.target for cases in prepared.cases]
    if not targets:
        return {"places": None}
    target = targets.index(query.of) if query.of in targets else 0
    cases, places = prepared.cases[target], prepared.places(metric, target)
    if places is None or places.is_truth:
        return {"places": places}
    wanted = [case_of(RankedCase(cases=cases, metric=0, case=at), before=False) for at in places.single.values()]
    numbers = dict(zip(places.single.values(), view.browsing(run).numbers(wanted), strict=True))

    def case(at: int) -> tuple[str, str]:
        return case_title(cases.pairs[at][0][1], None), case_path(run.id, numbers[at][0]) if numbers[at] else ""

    def some(outcome: CaseOutcome | None) -> str:
        return f"/compare{query.string(outcome=outcome or '', metric=query.metric, page='')}#cases"

    threshold = None
    if metric and not places.change.unit:
        threshold = next((one.threshold for one in run.metrics if one.name == metric), None)
    picture = draw_case_places(places, case, some, threshold)
    return {"places": places, "scatter": picture, "has_threshold": 'class="cut"' in picture}


def _metric(name: str) -> str | None:
    """Metric to sort by: empty for pass or fail, None for the deciding metric."""
    return "" if name == OVERALL else name or None


def _rows(
    view: StoreView, runs: tuple[Run, Run], rules: ScoringRules, ranked: Sequence[RankedCase]
) -> list[ComparedCase]:
    """Each case with its results, both scored by the newer run's rules."""
    run, baseline = runs
    now = view.browsing(run).results_of_cases([case_of(case, before=False) for case in ranked])
    before = view.browsing(baseline).results_of_cases([case_of(case, before=True) for case in ranked])
    judges = (rules.baseline, rules.run)
    return [
        _row(
            runs,
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


def _row(
    runs: tuple[Run, Run], ranked: RankedCase, before: Sequence[NumberedResult], now: Sequence[NumberedResult]
) -> ComparedCase:
    cases, (key, _) = ranked.cases, ranked.cases.pairs[ranked.case]
    flip = cases.flips.get(key)
    fell = None if flip is None or flip.metric else flip.is_worse
    scores = case_scores(cases, ranked.case)
    if len(before) == len(now) == 1:
        scores = with_labels(scores, before[0].result, now[0].result, runs[0].metrics)
    return ComparedCase(
        key=key,
        target=cases.change.target,
        outcome=ranked.outcome,
        flip=flip,
        before=_output(runs[1], _showing(before, fell)),
        now=_output(runs[0], _showing(now, None if fell is None else not fell)),
        scores=scores,
    )


def _output(run: Run, shown: NumberedResult | None) -> ComparedOutput | None:
    if shown is None:
        return None
    href = case_path(run.id, shown.number)
    return ComparedOutput(result=shown.result, verdict=shown.verdict, is_cut=shown.is_cut, href=href)


def _showing(several: Sequence[NumberedResult], passes: bool | None) -> NumberedResult | None:
    """Choose the repeat that shows the change, else the first."""
    verdict = {True: "pass", False: "fail", None: ""}[passes]
    return next((numbered for numbered in several if numbered.verdict == verdict), several[0] if several else None)


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
    if earlier is None and len(recent) == 1 and view.store.progress().runs == 1:
        return None, "The store has no other run yet: start evalmark run again, and compare the two."
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
