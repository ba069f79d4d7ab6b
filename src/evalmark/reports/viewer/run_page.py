"""The page of a run: metrics, and cases filtered and sorted by the address."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.errors import StoreError
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Mode, Score, Trial
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.reports.viewer.urls.queries import FLIPPED, LABELS, SIZES, VERDICTS, CaseQuery, parse_case_query
from evalmark.stats.summary.summary import SummaryGroup
from evalmark.storage.queries.pages import NumberedResult
from evalmark.tracing.annotations.labels import result_subject

from .background import FEW, RunFigures
from .comparisons import earlier_comparison, only_flipped
from .label_filter import only_labelled
from .labels import form_fields, label_views
from .live_updates import live_update, not_modified
from .page_context import PageContext
from .store_view import StoreView

METRICS = 50
"""Most metrics on a page."""


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
    run, standing = context.run(request), None
    if run.status == "running":
        standing = context.view.store.run_progress(run.id)
        if (same := not_modified(request, standing.mark)) is not None:
            return same
        run = context.run(request)  # read again, so that it is not older than its progress
    found = page_values(context.view, run, query_of(context, request, run))
    kept = [
        cell.kept for row in found["rows"] for cells in row.cells.values() for cell in cells if not cell.kept.is_cut
    ]
    things = {one.number: (result_subject(run.id, one.result), form_fields(run.id, one.number)) for one in kept}
    labels = label_views(context.view.store, things.values(), context.author(request))
    said = {number: labels[subject.about] for number, (subject, _) in things.items()}
    live = None
    if standing is not None and run.status == "running":
        live = live_update(run, standing, found["trials"], datetime.now(UTC))
    return context.page(request, "run.html", {**found, "said": said, "live": live})


def query_of(context: PageContext, request: Request, run: Run) -> CaseQuery:
    """Parse which cases an address requests; the filter on changed cases is applied later."""
    query = request.query_params
    asked = parse_case_query(query, query.getlist("verdict"), [metric.name for metric in run.metrics])
    return only_labelled(context.view, run, asked, context.author(request))


def page_values(view: StoreView, run: Run, asked: CaseQuery) -> Mapping[str, Any]:
    """Values of the template."""
    browsing = view.browsing(run)
    with view.figures.give_way():
        verdicts = browsing.verdicts()
    trials = sum(verdicts.values())
    figures, trouble = _figures(view, run, trials)
    is_busy = figures is None and not trouble and not asked.flipped
    against = earlier_comparison(view, run, is_busy=is_busy)
    asked = only_flipped(asked, against.held)
    with view.figures.give_way():
        found = browsing.page(asked.wanted, asked.place, asked.size, view.known(run, asked.wanted))
        asked = asked.found_at(found.place)
        rows = [_row(row.leader, row.results, run) for row in found.rows]
        run = replace(run, spending=view.spending(run))
    names = list(dict.fromkeys(metric.name for metric in run.metrics))
    metrics = metric_paging(names, asked)
    return {
        "run": run,
        "asked": asked,
        "trials": trials,
        "verdicts": [(name, verdicts[name]) for name in VERDICTS if verdicts.get(name)],
        "figures": figures,
        "trouble": trouble,
        "is_behind": figures is not None and figures.summary.trials != trials <= FEW,
        "rows": rows,
        "columns": sorted({column for row in rows for column in row.cells}, key=partial(_as_named, run.target)),
        "every_metric": names,
        "metrics": metrics.part(names),
        "metric_pages": metrics,
        "groups": [] if figures is None else [_of(group, metrics, names) for group in figures.summary.groups],
        "shows_dataset": len(run.datasets) > 1,
        "found": found,
        "first": asked.start if found.place is None else found.place,
        "sizes": SIZES,
        "labelled": LABELS,
        "flipped": FLIPPED,
        "against": against,
        "several_modes": len({mode for row in rows for _, mode in row.cells}) > 1,
    }


def metric_paging(names: Sequence[str], asked: CaseQuery) -> Paging:
    """Choose the page of metrics: the requested one, or the one with the sort or filter metric."""
    named = asked.wanted.sorted_metric or asked.wanted.metric
    place = names.index(named) if named in names else 0
    return Paging(total=len(names), size=METRICS, asked=asked.metrics or place // METRICS + 1)


def _of(group: SummaryGroup, metrics: Paging, names: Sequence[str]) -> SummaryGroup:
    """Restrict a group to one page of metrics."""
    if metrics.pages == 1:
        return group
    shown = frozenset(metrics.part(names))
    return replace(group, metrics=tuple(metric for metric in group.metrics if metric.name in shown))


def _figures(view: StoreView, run: Run, trials: int) -> tuple[RunFigures | None, str]:
    """Return the figures, or an error message; neither while being computed."""
    try:
        return view.figures.of(run, trials), ""
    except StoreError as error:
        return None, str(error)


def _row(leader: int, results: Iterable[NumberedResult], run: Run) -> RunRow:
    cells: dict[tuple[str, Mode], tuple[TargetCell, ...]] = {}
    trial = None
    for kept in results:
        trial = trial or kept.result.trial
        column = kept.result.trial.target, kept.result.trial.mode
        metrics = metrics_for(run.metrics, kept.result.trial.dataset)
        cell = TargetCell(kept=kept, scores={score.name: score for score in kept.result.scores}, metrics=metrics)
        cells[column] = (*cells.get(column, ()), cell)
    assert trial is not None  # noqa: S101  a row has at least one result
    return RunRow(leader=leader, trial=trial, cells=cells)


def _as_named(targets: str, column: tuple[str, Mode]) -> tuple[int, str, Mode]:
    """Sort key: targets in the run's order."""
    target, mode = column
    return f", {targets}, ".find(f", {target}, "), target, mode
