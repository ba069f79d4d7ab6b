"""The page of a run's pictures: how scores spread, how well they tell good from bad, how far judges agree, what targets cost."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalmark.core.errors import StoreError
from evalmark.core.values.run import Run
from evalmark.reports.html.agreement_chart import flips_drawn
from evalmark.reports.html.cost_chart import are_comparable, cost_drawn, cost_table, qualities
from evalmark.reports.html.metric_charts import Gathered, gathered, sections_of
from evalmark.stats.summary.summary import Summary

from .background import About, Patiently
from .page_context import Desk
from .store_view import Shelf


def routes(desk: Desk) -> list[Route]:
    """Where the page stands."""
    return [Route("/runs/{run}/pictures", partial(_answer, desk))]


def _answer(desk: Desk, request: Request) -> Response:
    run, query = desk.run(request), request.query_params
    found = values(desk.shelf, run, query.get("against", ""), query.get("quality", ""))
    return desk.page(request, "pictures.html", {"run": run, **found})


def values(shelf: Shelf, run: Run, against: str, quality: str) -> Mapping[str, Any]:
    """What the template needs; `against` names a metric, or is empty for what people say."""
    with shelf.figures.give_way():
        trials = sum(shelf.browsing(run).verdicts().values())
    known: dict[str, Any] = {"trials": trials, "found": None, "trouble": ""}
    try:
        figures = shelf.figures.of(run, trials)
        if figures is None:
            return known
        summary = figures.summary
        deciding = list(dict.fromkeys(metric.name for metric in summary.metrics if metric.pass_rate.n))
        against = against if against in deciding else ""
        found = _gathered(shelf, run, summary, against)
    except StoreError as error:
        return {**known, "trouble": str(error)}
    return {**known, **_shown(run, summary, found, quality), "against": against, "deciding": deciding}


def _shown(run: Run, summary: Summary, found: Gathered | None, quality: str) -> Mapping[str, Any]:
    kinds = found.kinds if found else {}
    ways = qualities(summary)
    way = quality if quality in ways else next(iter(ways), "")
    return {
        "found": found,
        "sections": list(sections_of(run, summary, kinds)),
        "flips": flips_drawn(summary),
        "ways": list(ways),
        "way": way,
        "cost": cost_drawn(summary, found.worths, way, ways[way]) if found and way else None,
        "costs": cost_table(found.worths) if found and found.worths else None,
        "are_comparable": are_comparable(summary),
    }


def _gathered(shelf: Shelf, run: Run, summary: Summary, against: str) -> Gathered | None:
    labels = 0 if against else shelf.store.sessions.last_label_number()
    reads = bool(against or labels or summary.by_target)
    about = About(
        kind="pictures",
        names=(run.id, against),
        state=(run.status, run.finished, summary.trials, labels),
        trials=summary.trials if reads else 0,
        kept=8,
    )

    def gather(patiently: Patiently) -> Gathered:
        said = shelf.store.sessions.all_labels() if labels else []
        return gathered(patiently(run), summary, against, said, shelf.store.recordings.prices)

    return shelf.figures.found(about, gather)
