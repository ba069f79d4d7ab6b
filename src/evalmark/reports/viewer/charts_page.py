"""The page of a run's charts: histograms, ROC curves, judge agreement and cost."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.errors import StoreError
from evalmark.core.values.run import Run
from evalmark.reports.html.agreement_chart import draw_flips
from evalmark.reports.html.cost_chart import are_comparable, cost_table, draw_costs, qualities
from evalmark.reports.html.metric_charts import ResultCharts, metric_charts, result_charts
from evalmark.stats.summary.summary import Summary

from .background import Task, YieldingReader
from .page_context import PageContext
from .store_view import StoreView


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    run, query = context.run(request), request.query_params
    found = page_values(context.view, run, query.get("against", ""), query.get("quality", ""))
    return context.page(request, "pictures.html", {"run": run, **found})


def page_values(view: StoreView, run: Run, against: str, quality: str) -> Mapping[str, Any]:
    """Values of the template; `against` names a metric, or is empty for labels."""
    with view.figures.give_way():
        trials = sum(view.browsing(run).verdicts().values())
    known: dict[str, Any] = {"trials": trials, "found": None, "trouble": ""}
    try:
        figures = view.figures.of(run, trials)
        if figures is None:
            return known
        summary = figures.summary
        deciding = list(dict.fromkeys(metric.name for metric in summary.metrics if metric.pass_rate.n))
        against = against if against in deciding else ""
        found = _gathered(view, run, summary, against)
    except StoreError as error:
        return {**known, "trouble": str(error)}
    return {**known, **_shown(run, summary, found, quality), "against": against, "deciding": deciding}


def _shown(run: Run, summary: Summary, found: ResultCharts | None, quality: str) -> Mapping[str, Any]:
    kinds = found.kinds if found else {}
    ways = qualities(summary)
    way = quality if quality in ways else next(iter(ways), "")
    return {
        "found": found,
        "sections": list(metric_charts(run, summary, kinds)),
        "flips": draw_flips(summary),
        "ways": list(ways),
        "way": way,
        "cost": draw_costs(summary, found.worths, way, ways[way]) if found and way else None,
        "costs": cost_table(found.worths) if found and found.worths else None,
        "are_comparable": are_comparable(summary),
    }


def _gathered(view: StoreView, run: Run, summary: Summary, against: str) -> ResultCharts | None:
    labels = 0 if against else view.store.sessions.last_label_number()
    reads = bool(against or labels or summary.by_target)
    about = Task(
        kind="pictures",
        names=(run.id, against),
        state=(run.status, run.finished, summary.trials, labels),
        trials=summary.trials if reads else 0,
        kept=8,
    )

    def gather(patiently: YieldingReader) -> ResultCharts:
        said = view.store.sessions.all_labels() if labels else []
        return result_charts(patiently(run), summary, against, said, view.store.recordings.prices)

    return view.figures.found(about, gather)
