"""The page of a run: what it came to, and its cases, filtered and sorted by its address."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalmark.core.errors import StoreError
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Mode, Score, Trial
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.reports.viewer.urls.queries import FLIPPED, LABELS, SIZES, VERDICTS, CasesAsked, cases_asked
from evalmark.stats.summary.summary import SummaryGroup
from evalmark.storage.queries.pages import NumberedResult
from evalmark.tracing.annotations.labels import result_subject

from .background import FEW, RunFigures
from .comparisons import against_of, held_to_flips
from .label_filter import held_to_labels
from .labels import fields_of, said_of
from .live_updates import following, unchanged
from .page_context import Desk
from .store_view import Shelf

METRICS = 50
"""Metrics that a page shows; a thousand of them in fifty rows would take a browser seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a target gave for a case: the score of each column, by name."""

    kept: NumberedResult
    scores: Mapping[str, Score]
    metrics: Mapping[str, Metric]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case for the n-th time, with the cells of each column."""

    leader: int
    """The number of its first result that is wanted."""
    trial: Trial
    cells: Mapping[tuple[str, Mode], tuple[Cell, ...]]

    @property
    def first(self) -> Cell:
        return next(iter(self.cells.values()))[0]


def routes(desk: Desk) -> list[Route]:
    """Where the page stands."""
    return [Route("/runs/{run}", partial(_answer, desk))]


def _answer(desk: Desk, request: Request) -> Response:
    run, standing = desk.run(request), None
    if run.status == "running":
        standing = desk.shelf.store.run_progress(run.id)
        if (same := unchanged(request, standing.mark)) is not None:
            return same
        run = desk.run(request)  # not older than what it stood at
    found = values(desk.shelf, run, asked_of(desk, request, run))
    kept = [
        cell.kept for row in found["rows"] for cells in row.cells.values() for cell in cells if not cell.kept.is_cut
    ]
    things = {one.number: (result_subject(run.id, one.result), fields_of(run.id, one.number)) for one in kept}
    labels = said_of(desk.shelf.store, things.values(), desk.author(request))
    said = {number: labels[subject.about] for number, (subject, _) in things.items()}
    live = None
    if standing is not None and run.status == "running":
        live = following(run, standing, found["trials"], datetime.now(UTC))
    return desk.page(request, "run.html", {**found, "said": said, "live": live})


def asked_of(desk: Desk, request: Request, run: Run) -> CasesAsked:
    """Which cases of a run an address asks for; that they flipped is left to whoever knows which ones did."""
    query = request.query_params
    asked = cases_asked(query, query.getlist("verdict"), [metric.name for metric in run.metrics])
    return held_to_labels(desk.shelf, run, asked, desk.author(request))


def values(shelf: Shelf, run: Run, asked: CasesAsked) -> Mapping[str, Any]:
    """What the template needs."""
    browsing = shelf.browsing(run)
    with shelf.figures.give_way():
        verdicts = browsing.verdicts()
    trials = sum(verdicts.values())
    figures, trouble = _figures(shelf, run, trials)
    is_busy = figures is None and not trouble and not asked.flipped
    against = against_of(shelf, run, is_busy=is_busy)
    asked = held_to_flips(asked, against.held)
    with shelf.figures.give_way():
        found = browsing.page(asked.wanted, asked.place, asked.size, shelf.known(run, asked.wanted))
        asked = asked.found_at(found.place)
        rows = [_row(row.leader, row.results, run) for row in found.rows]
        run = replace(run, spending=shelf.spending(run))
    names = list(dict.fromkeys(metric.name for metric in run.metrics))
    metrics = paged(names, asked)
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


def paged(names: Sequence[str], asked: CasesAsked) -> Paging:
    """The page of the metrics of a run that is asked for, or the one with the metric that rows are sorted or filtered by."""
    named = asked.wanted.sorted_metric or asked.wanted.metric
    place = names.index(named) if named in names else 0
    return Paging(total=len(names), size=METRICS, asked=asked.metrics or place // METRICS + 1)


def _of(group: SummaryGroup, metrics: Paging, names: Sequence[str]) -> SummaryGroup:
    """The figures of a group, those of one page of the metrics."""
    if metrics.pages == 1:
        return group
    shown = frozenset(metrics.part(names))
    return replace(group, metrics=tuple(metric for metric in group.metrics if metric.name in shown))


def _figures(shelf: Shelf, run: Run, trials: int) -> tuple[RunFigures | None, str]:
    """The figures, or what stands in their way; neither while they are being worked out."""
    try:
        return shelf.figures.of(run, trials), ""
    except StoreError as error:
        return None, str(error)


def _row(leader: int, results: Iterable[NumberedResult], run: Run) -> Row:
    cells: dict[tuple[str, Mode], tuple[Cell, ...]] = {}
    trial = None
    for kept in results:
        trial = trial or kept.result.trial
        column = kept.result.trial.target, kept.result.trial.mode
        metrics = metrics_for(run.metrics, kept.result.trial.dataset)
        cell = Cell(kept=kept, scores={score.name: score for score in kept.result.scores}, metrics=metrics)
        cells[column] = (*cells.get(column, ()), cell)
    assert trial is not None  # noqa: S101  a row has at least one result
    return Row(leader=leader, trial=trial, cells=cells)


def _as_named(targets: str, column: tuple[str, Mode]) -> tuple[int, str, Mode]:
    """Targets in the order in which the run names them."""
    target, mode = column
    return f", {targets}, ".find(f", {target}, "), target, mode
