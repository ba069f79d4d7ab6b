"""The page of a run: metrics, and cases filtered and sorted by the address."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.case_titles import CaseTitles
from evalmark.core.errors import StoreError
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Mode, Score, Trial, Verdict
from evalmark.reports.viewer.urls.case_query import (
    COLUMNS,
    DENSITIES,
    FLIPPED,
    LABELS,
    SIZES,
    VERDICTS,
    CaseQuery,
    parse_case_query,
)
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.stats.summary.summary import Summary, SummaryGroup
from evalmark.storage.queries.pages import NumberedResult
from evalmark.tracing.annotations.labels import result_subject

from .background import FEW, RunFigures
from .comparisons import best_of_run, earlier_comparison, only_flipped
from .json_fields import offered_fields
from .label_filter import only_labelled
from .labels import form_fields, label_views
from .live_updates import computed_mark, live_update, not_modified, run_mark
from .page_context import PageContext
from .pattern_filter import only_matching
from .reading_rows import is_long_address, reading_rows, sort_orders, worst_first
from .store_view import StoreView

METRICS = 50
"""Most metrics on a page."""
_USUAL_SIZES, _LEAST_SIZE = ((1, SIZES[1]), (4, SIZES[0]), (8, 8)), 5
"""Cases on a page of up to so many targets, unless the address says how many; and of more targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCell:
    """A target's result for a case, with scores by name."""

    kept: NumberedResult
    scores: Mapping[str, Score]
    metrics: Mapping[str, Metric]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A case or one of its repeats, with cells by column."""

    leader: int
    """Number of its first matching result."""
    trial: Trial
    cells: Mapping[tuple[str, Mode], tuple[TargetCell, ...]]

    @property
    def first(self) -> TargetCell:
        return next(iter(self.cells.values()))[0]


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    computed, stored = computed_mark(context.view), None
    if (same := not_modified(request, computed)) is not None:
        return same
    run = context.run(request)
    if run.status == "running":
        stored = context.view.store.run_progress(run.id)
        if (same := not_modified(request, run_mark(context.view, stored))) is not None:
            return same
        run = context.run(request)  # read again, so that the run is not older than its progress
    values = page_values(context.view, run, query_of(context, request, run))
    results = [
        cell.kept for row in values["rows"] for cells in row.cells.values() for cell in cells if not cell.kept.is_cut
    ]
    subjects = {one.number: (result_subject(run.id, one.result), form_fields(run.id, one.number)) for one in results}
    labels = label_views(context.view.store, subjects.values(), context.author(request))
    views = {number: labels[subject.about] for number, (subject, _) in subjects.items()}
    live = None
    if stored is not None and run.status == "running":
        live = live_update(context.view, run, stored, values["trials"])
    return context.page(request, "run.html", {**values, "views": views, "live": live, "computed": computed})


def query_of(context: PageContext, request: Request, run: Run) -> CaseQuery:
    """Parse which cases an address requests; the filter on changed cases is applied later."""
    params = request.query_params
    names = score_names(context.view, run)
    targets = run.target.count(", ") + 1
    usual = next((size for most, size in _USUAL_SIZES if targets <= most), _LEAST_SIZE)
    query = parse_case_query(params, params.getlist("verdict"), names, params.getlist("columns"), usual)
    return only_matching(context.view, run, only_labelled(context.view, run, query, context.author(request)))


def score_names(view: StoreView, run: Run) -> list[str]:
    """Return the names of the scores of a run: those of its metrics, and of the several scores that a metric gives.

    The latter are known from its figures alone, so not while the run goes on.
    """
    declared = dict.fromkeys(metric.name for metric in run.metrics)
    if run.status == "running":
        return list(declared)
    figures = view.figures.stored(run, view.store)
    if figures is None:
        with view.figures.give_way():
            trials = sum(view.browsing(run).verdicts().values())
        figures = _figures(view, run, trials)[0] if trials <= FEW else None  # others may take long at first
    scored = () if figures is None else figures.summary.metric_names
    several = {name for name in declared if name not in scored and any(one.startswith(f"{name}.") for one in scored)}
    return list(dict.fromkeys([*(name for name in declared if name not in several), *scored]))


def page_values(view: StoreView, run: Run, query: CaseQuery) -> Mapping[str, Any]:
    """Values of the template."""
    browsing = view.browsing(run)
    stored = view.figures.stored(run, view.store)
    with view.figures.give_way():
        verdicts = browsing.verdicts() if stored is None else verdict_counts(stored.summary)
    trials = sum(verdicts.values())
    figures, trouble = _figures(view, run, trials)
    is_busy = figures is None and not trouble and not query.changes
    against = earlier_comparison(view, run, is_busy=is_busy)
    best, is_best_pending = best_of_run(view, run, trials, is_busy=is_busy)
    query = worst_first(only_flipped(query, against.prepared), figures, run)
    with view.figures.give_way():
        page = browsing.page(query.conditions, query.place, query.size, view.known(run, query.conditions))
        if page.total is None:
            view.search(run, query.conditions)
        query = query.found_at(page.place)
        rows = [_row(row.leader, row.results, run) for row in page.rows]
        run = replace(run, spending=view.spending(run))
    names = score_names(view, run)
    metrics = metric_paging(names, query)
    columns = sorted({column for row in rows for column in row.cells}, key=partial(_as_named, run.target))
    return {
        "run": run,
        "query": query,
        "followed": replace(query, is_ordered=True),
        "trials": trials,
        "verdicts": [(name, verdicts[name]) for name in VERDICTS if verdicts.get(name)],
        "figures": figures,
        "trouble": trouble,
        "is_behind": figures is not None and figures.summary.trials != trials <= FEW,
        "rows": rows,
        "titles": CaseTitles(),
        "columns": columns,
        **(reading_values(rows, query, metrics.part(names)) if len(columns) == 1 else {}),
        "every_metric": names,
        "metrics": metrics.part(names),
        "metric_pages": metrics,
        "groups": []
        if figures is None
        else [_with_metrics_of(group, metrics, names) for group in figures.summary.groups],
        "shows_dataset": len(run.datasets) > 1,
        "found_page": page,
        "first": query.start if page.place is None else page.place,
        "sizes": sorted({*SIZES, query.usual_size}),
        "labelled": LABELS,
        "flipped": FLIPPED,
        "against": against,
        "best": best,
        "is_best_pending": is_best_pending,
        "several_modes": len({mode for row in rows for _, mode in row.cells}) > 1,
    }


def verdict_counts(summary: Summary) -> Mapping[Verdict, int]:
    """Count the trials of a summary by verdict, those that do not count for the headline included."""
    counts: Counter[Verdict] = Counter()
    for part in filter(None, (summary.total, summary.left_out)):
        found: Mapping[Verdict, int] = {
            "pass": part.passed,
            "fail": part.failed,
            "error": part.errors,
            "unscored": part.unscored,
            "ungated": part.ungated,
        }
        counts.update(found)
    return counts


def reading_values(rows: Sequence[RunRow], query: CaseQuery, shown: Sequence[str]) -> Mapping[str, Any]:
    """Values of `case_rows.html`, for rows with one target."""
    cells = [row.first for row in rows]
    metrics = {cell.kept.number: cell.metrics for cell in cells}
    order = replace(query, is_ordered=True).sort
    orders = sort_orders(shown)
    return {
        "repeats_filters": not is_long_address(query),
        "reading": reading_rows([cell.kept for cell in cells], query, metrics, shown),
        "has_expected": "expected" in query.columns and any(row.trial.case.expected is not None for row in rows),
        "gated": {score.name for cell in cells for score in cell.kept.result.scores if score.passed is not None},
        "has_scores": "scores" in query.columns and any(cell.kept.result.scores for cell in cells),
        "densities": DENSITIES,
        "all_columns": COLUMNS,
        "offered_fields": offered_fields([cell.kept.result for cell in cells], query.json_fields),
        "orders": orders,
        "order_text": next((word for word, sort in orders if sort == order), "chosen"),
    }


def show_row(context: PageContext, request: Request) -> Response:
    """Show one row of the page with all of its texts, for a script that unfolds it in place."""
    run, number = context.run(request), context.number(request)
    result = context.view.result(run, number)
    row = _row(number, [NumberedResult(number=number, verdict=result.verdict, result=result)], run)
    query = replace(query_of(context, request, run), density="full")
    subject = result_subject(run.id, result)
    views = label_views(context.view.store, [(subject, form_fields(run.id, number))], context.author(request))
    shown = score_names(context.view, run)
    return context.page(
        request,
        "case_row.html",
        {
            "run": run,
            "query": replace(query, density="comfortable"),
            "followed": replace(query, density="comfortable"),
            "row": row,
            "shows_dataset": len(run.datasets) > 1,
            "views": {number: views[subject.about]},
            **reading_values([row], query, shown),
        },
    )


def metric_paging(names: Sequence[str], query: CaseQuery) -> Paging:
    """Choose the page of metrics: the requested one, or the one with the sort or filter metric."""
    metric = query.conditions.sorted_metric or query.conditions.metric
    position = names.index(metric) if metric in names else 0
    return Paging(total=len(names), size=METRICS, requested=query.metrics or position // METRICS + 1)


def _with_metrics_of(group: SummaryGroup, metrics: Paging, names: Sequence[str]) -> SummaryGroup:
    """Restrict a group to one page of metrics."""
    if metrics.pages == 1:
        return group
    shown = frozenset(metrics.part(names))
    return replace(group, metrics=tuple(metric for metric in group.metrics if metric.name in shown))


def _figures(view: StoreView, run: Run, trials: int) -> tuple[RunFigures | None, str]:
    """Return the figures, or an error message; neither while being computed."""
    try:
        return view.figures.of(run, trials, view.store), ""
    except StoreError as error:
        return None, str(error)


def _row(leader: int, results: Iterable[NumberedResult], run: Run) -> RunRow:
    cells: dict[tuple[str, Mode], tuple[TargetCell, ...]] = {}
    trial = None
    for numbered in results:
        trial = trial or numbered.result.trial
        column = numbered.result.trial.target, numbered.result.trial.mode
        metrics = metrics_for(run.metrics, numbered.result.trial.dataset)
        cell = TargetCell(
            kept=numbered, scores={score.name: score for score in numbered.result.scores}, metrics=metrics
        )
        cells[column] = (*cells.get(column, ()), cell)
    assert trial is not None  # noqa: S101  a row has at least one result
    return RunRow(leader=leader, trial=trial, cells=cells)


def _as_named(targets: str, column: tuple[str, Mode]) -> tuple[int, str, Mode]:
    """Sort key: targets in the run's order."""
    target, mode = column
    return f", {targets}, ".find(f", {target}, "), target, mode
