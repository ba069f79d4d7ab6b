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
    values = page_values(context.view, run, query.get("against", ""), query.get("quality", ""))
    return context.page(request, "charts.html", {"run": run, **values})


def page_values(view: StoreView, run: Run, against: str, quality: str) -> Mapping[str, Any]:
    """Values of the template; `against` names a metric, or is empty for labels."""
    with view.figures.give_way():
        trials = sum(view.browsing(run).verdicts().values())
    values: dict[str, Any] = {"trials": trials, "charts": None, "trouble": ""}
    try:
        figures = view.figures.of(run, trials, view.store)
        if figures is None:
            return values
        summary = figures.summary
        deciding = list(dict.fromkeys(metric.name for metric in summary.metrics if metric.pass_rate.n))
        against = against if against in deciding else ""
        charts = _gathered(view, run, summary, against)
    except StoreError as error:
        return {**values, "trouble": str(error)}
    return {**values, **_shown(run, summary, charts, quality), "against": against, "deciding": deciding}


def _shown(run: Run, summary: Summary, charts: ResultCharts | None, quality: str) -> Mapping[str, Any]:
    kinds = charts.kinds if charts else {}
    measures = qualities(summary)
    measure = quality if quality in measures else next(iter(measures), "")
    return {
        "charts": charts,
        "sections": list(metric_charts(run, summary, kinds)),
        "flips": draw_flips(summary),
        "measures": list(measures),
        "measure": measure,
        "cost": draw_costs(summary, charts.costs, measure, measures[measure]) if charts and measure else None,
        "costs": cost_table(charts.costs) if charts and charts.costs else None,
        "are_comparable": are_comparable(summary),
    }


def _gathered(view: StoreView, run: Run, summary: Summary, against: str) -> ResultCharts | None:
    labels_version = 0 if against else view.store.sessions.last_label_number()
    reads = bool(against or labels_version or summary.by_target)
    task = Task(
        kind="charts",
        names=(run.id, against),
        state=(run.status, run.finished, summary.trials, labels_version),
        trials=summary.trials if reads else 0,
        kept=8,
    )

    def gather(patiently: YieldingReader) -> ResultCharts:
        all_labels = view.store.sessions.all_labels() if labels_version else []
        return result_charts(patiently(run), summary, against, all_labels, view.store.recordings.prices)

    return view.figures.found(task, gather)
