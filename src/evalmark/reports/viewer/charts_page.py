"""The page of a run's charts: histograms, ROC curves, judge agreement and cost."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.errors import StoreError
from evalmark.core.values.run import Run
from evalmark.reports.html.agreement_chart import draw_flips
from evalmark.reports.html.cost_chart import are_comparable, cost_table, draw_costs, qualities
from evalmark.reports.html.histograms import BinLink
from evalmark.reports.html.metric_charts import ResultCharts, metric_charts, result_charts
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.reports.viewer.urls.parameters import parse_count, query_string
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.reports.viewer.urls.search_terms import quoted
from evalmark.stats.summary.summary import Summary, SummaryGroup

from .background import Task, YieldingReader
from .page_context import PageContext
from .run_page import METRICS
from .store_view import StoreView


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    run, query = context.run(request), request.query_params
    page = parse_count(query.get("page", "")) or 1
    values = page_values(context.view, run, query.get("against", ""), query.get("quality", ""), page)
    return context.page(request, "charts.html", {"run": run, **values})


def page_values(view: StoreView, run: Run, against: str, quality: str, page: int = 1) -> Mapping[str, Any]:
    """Values of the template; `against` names a metric, or is empty for labels. `page` is one of the pages of metrics."""
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
    names = list(summary.metric_names)
    metrics = Paging(total=len(names), size=METRICS, requested=page)
    shown = _shown(run, summary, charts, quality, metrics.part(names))
    return {**values, **shown, "against": against, "deciding": deciding, "metric_pages": metrics}


def _shown(
    run: Run, summary: Summary, charts: ResultCharts | None, quality: str, names: Sequence[str]
) -> Mapping[str, Any]:
    kinds = charts.kinds if charts else {}
    measures = qualities(summary)
    costs = charts.costs if charts else ()
    has_costs = any(target.cost is not None for target in costs)
    measure = quality if quality in measures else next(iter(measures), "")
    return {
        "charts": charts,
        "sections": list(metric_charts(run, summary, kinds, partial(_bin_links, run, summary), names)),
        "flips": draw_flips(summary),
        "measures": list(measures),
        "measure": measure,
        "cost": draw_costs(summary, costs, measure, measures[measure]) if measure else None,
        "costs": cost_table(costs) if has_costs else None,
        "unpriced": [] if has_costs else sorted({model for target in costs for model in target.models}),
        "are_comparable": are_comparable(summary),
    }


def _bin_links(run: Run, summary: Summary, group: SummaryGroup | None) -> BinLink | None:
    """Return the links of a histogram of a target, or of all trials if one target has them all."""
    modes, targets = ({getattr(one, of) for one in summary.groups} for of in ("mode", "target"))
    if len(modes) > 1:
        return None
    if group is None:  # a row of the list has the outputs of all targets
        return partial(_bin_path, run, "") if len(targets) == 1 else None
    is_whole_target = [one.target for one in summary.groups].count(group.target) == 1
    return partial(_bin_path, run, group.target) if is_whole_target and group.target else None


def _bin_path(run: Run, target: str, metric: str, low: float | None, high: float | None) -> str:
    """Return the address of the cases of which an output of a target has a score in a bin of a histogram."""
    name = f"metric.{quoted(metric)}"
    of = [f"target:{quoted(target)}"] if target else []
    ends = [*of, *([] if low is None else [f"{name}>={low:.9g}"]), *([] if high is None else [f"{name}<{high:.9g}"])]
    return f"{run_path(run.id, query_string({'q': ' '.join(ends)}))}#cases"


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

    def gather(yielding: YieldingReader) -> ResultCharts:
        all_labels = view.store.sessions.all_labels() if labels_version else []
        return result_charts(yielding(run), summary, against, all_labels, view.store.recordings.prices)

    return view.figures.result(task, gather)
