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
from evalmark.reports.text.comparison import OVERALL, CaseScore, case_scores, deciding_texts
from evalmark.reports.text.word_changes import TextPair, word_changes
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.reports.viewer.urls.queries import ComparisonQuery, parse_comparison_query
from evalmark.runs.execution.baseline import LAST_GREEN
from evalmark.stats.comparison.baseline_choice import choose_baseline, comparable_runs
from evalmark.stats.comparison.change import Flip
from evalmark.stats.comparison.compared_cases import CASE_OUTCOMES, RankedCase
from evalmark.stats.comparison.scoring_rules import ScoringRules
from evalmark.storage.queries.pages import NumberedResult

from .comparisons import PreparedComparison, baseline_of, case_of, prepared_comparison
from .page_context import PageContext
from .store_view import StoreView

SIZE = 20
"""Cases per page."""
MOST_RUNS = 300
"""Most runs in a form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A case with a result of either run."""

    place: RankedCase
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
        asked, said = _picked(
            parse_comparison_query(request.query_params), _in_order(view, request.query_params.getlist("pick"), runs)
        )
        if not asked.run:
            return context.page(request, "compare.html", {**_NOTHING, "said": said, **_choices(asked, runs, ())})
        run = view.store.run(asked.run)
        recent = list(view.back_from(run))
        baseline, said = _baseline(view, run, asked, recent)
    held, trouble = None, ""
    if baseline is not None:
        try:
            held = prepared_comparison(view, run, baseline, asked.targets)
        except EvalmarkError as error:
            said, trouble = "", str(error)
    found = {"run": run, "baseline": baseline, "held": held, "said": said, "trouble": trouble}
    if held is not None and baseline is not None:
        with view.figures.give_way():
            found |= case_values(view, (run, baseline), held, asked)
    return context.page(request, "compare.html", {**_NOTHING, **found, **_choices(asked, runs, recent)})


_NOTHING: Mapping[str, Any] = {"run": None, "baseline": None, "held": None, "trouble": "", "rows": ()}


def case_values(
    view: StoreView, runs: tuple[Run, Run], held: PreparedComparison, asked: ComparisonQuery
) -> Mapping[str, Any]:
    """Values of the template for the cases."""
    metric = _metric(asked.metric)
    every = [place for place in held.telling(metric) if asked.of in ("", place.cases.change.target)]
    wanted = [place for place in every if asked.went in ("", place.went)]
    paging = Paging(total=len(wanted), size=SIZE, asked=asked.page)
    known = [place.went for place in every]
    return {
        "rows": _rows(view, runs, held.found.rules, paging.part(wanted)),
        "all": len(every),
        "counts": [(went, known.count(went)) for went in CASE_OUTCOMES],
        "total": len(wanted),
        "page": paging.page,
        "pages": paging.pages,
        "first": paging.start + 1,
        "metrics": list(dict.fromkeys(change.name for cases in held.cases for change in cases.change.changes)),
        "sorted_by": metric if metric is not None else held.cases[0].change.deciding.name if held.cases else "",
        "compared_targets": [cases.change.target for cases in held.cases],
        "several_datasets": len({name for cases in held.cases for name in cases.sources[0]}) > 1,
    }


def _metric(asked: str) -> str | None:
    """Metric to sort by: empty for pass or fail, None for the deciding metric."""
    return "" if asked == OVERALL else asked or None


def _rows(
    view: StoreView, runs: tuple[Run, Run], rules: ScoringRules, places: Sequence[RankedCase]
) -> list[ComparedRow]:
    """Each case with its results, both scored by the newer run's rules."""
    run, baseline = runs
    now = view.browsing(run).results_of_cases([case_of(place, before=False) for place in places])
    before = view.browsing(baseline).results_of_cases([case_of(place, before=True) for place in places])
    judges = (rules.baseline, rules.run)
    return [
        _row(place, *(tuple(_under(judge, kept) for kept in side) for judge, side in zip(judges, sides, strict=True)))
        for place, *sides in zip(places, before, now, strict=True)
    ]


def _under(judge: Callable[[Result], Result], kept: NumberedResult) -> NumberedResult:
    if kept.is_cut:  # its scores are not there
        return kept
    judged = judge(kept.result)
    return kept if judged is kept.result else replace(kept, verdict=judged.verdict, result=judged)


def _row(place: RankedCase, before: Sequence[NumberedResult], now: Sequence[NumberedResult]) -> ComparedRow:
    cases, case = place.cases, place.case
    flip = cases.flips.get(cases.pairs[case][0])
    fell = None if flip is None or flip.metric else flip.is_worse
    old, new = _showing(before, fell), _showing(now, None if fell is None else not fell)
    is_whole = old is not None and new is not None and not (old.is_cut or new.is_cut)
    return ComparedRow(
        place=place,
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
    word = {True: "pass", False: "fail", None: ""}[passes]
    return next((kept for kept in several if kept.verdict == word), several[0] if several else None)


def _answer_of(kept: NumberedResult | None) -> str:
    value = None if kept is None else kept.result.output.value
    return "" if value is None else visible(page_text(value).shown)


def _in_order(view: StoreView, picks: Sequence[str], newest: Sequence[Run]) -> list[str]:
    """Order the chosen ids, newest first."""
    runs = newest if {run.id for run in newest}.issuperset(picks) else view.every_run()
    return [run.id for run in runs if run.id in picks]


def _picked(asked: ComparisonQuery, chosen: Sequence[str]) -> tuple[ComparisonQuery, str]:
    """Return the query for the chosen runs, and an error message."""
    if len(chosen) > 2:
        return asked, f"{len(chosen)} runs were chosen, and two can be compared."
    if not chosen or asked.run:
        return asked, ""
    return replace(asked, run=chosen[0], baseline=chosen[1] if chosen[1:] else ""), ""


def _baseline(view: StoreView, run: Run, asked: ComparisonQuery, recent: Sequence[Run]) -> tuple[Run | None, str]:
    """Return the baseline, or why there is none; `recent` are the run and earlier ones.

    Raises:
        StoreError: there is no such run.
    """
    if asked.baseline:
        found = baseline_of(view, run, asked.baseline)
        if found is None:
            return None, "The last green run is being looked for."
        return found.run, found.said or ("" if found.run else "No run was named to compare with.")
    if asked.against:
        return run, ""
    earlier = choose_baseline(run, recent)
    return earlier, "" if earlier else "There is no earlier complete run of the same suite and datasets; choose one."


def _choices(asked: ComparisonQuery, runs: Sequence[Run], recent: Sequence[Run]) -> Mapping[str, Any]:
    """Choices of the form; `recent` are the compared run and earlier ones."""
    near = list(comparable_runs(recent[0], recent))[:MOST_RUNS] if recent else []
    known = {one.id for one in [*recent[:1], *near]}
    return {
        "asked": asked,
        "runs": runs,
        "near": near,
        "others": [one for one in runs if one.id not in known],
        "last_green": LAST_GREEN,
    }
