"""The page of trends: a metric over the runs of one or several suites."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.errors import EvalmarkError
from evalmark.core.money import money
from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.core.values.spending import priced_spending, total_spending
from evalmark.reports.html.trend_chart import (
    BY_RATE,
    BY_TAG,
    DASHES,
    TAGS,
    RunMetrics,
    TrendLine,
    TrendPoint,
    TrendRun,
    draw_trend,
    limit_line,
    parts_of,
    pass_rate_lines,
    points_of,
    trend_lines,
    with_limits,
)
from evalmark.reports.html.trend_panels import PanelPoint, PanelRun, TrendPanel, draw_panel, newest_point
from evalmark.reports.text.numbers import duration
from evalmark.reports.text.trend import false_alarm_sentence, outside_lines, run_name, start_lines
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.stats.comparison.baseline_choice import runs_of_series, suite_of
from evalmark.stats.comparison.metric_series import MetricSeries, metric_series, newest_runs, run_values

from .background import Task
from .listed_metrics import ListedMetrics
from .page_context import PageContext
from .store_view import RunLine, StoreView

MOST = 50
"""Most runs on the chart."""
METRICS = 50
"""Most metrics with a small chart."""
_SEARCHED_RUNS = 2_000
"""Newest runs whose suites are offered."""
EVERY = "*"
"""Selects all suites, one line each."""


def show(context: PageContext, request: Request) -> Response:
    """Show all measures of a suite as small multiples, or one in detail."""
    query = request.query_params
    values = page_values(context.view, context.metrics, query.get("suite", ""), query.get("of", ""))
    return context.page(request, "trends.html", values)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChosenSuite:
    """A suite with its newest runs, among all suites."""

    name: str
    """`EVERY` for all suites."""
    unknown: str
    """The requested suite, if there is none of this name; else empty."""
    suites: Sequence[str]
    titles: Mapping[str, str]
    recent: Sequence[Run]
    """The newest runs of all suites."""
    lines: Sequence[RunLine]
    """The runs on the chart, the oldest first."""
    left_out: int
    """Runs that are too old for the chart."""


def _chosen_suite(view: StoreView, suite: str) -> _ChosenSuite:
    """Return the requested suite, by its file or name; else the one of the newest run."""
    recent = view.store.runs(_SEARCHED_RUNS)
    suites = list(dict.fromkeys(map(suite_of, recent)))
    if suite not in suites:  # a name, or a file, stands for its newest suite
        suite = next((suite_of(run) for run in recent if suite in (run.name, run.suite)), suite)
    unknown = "" if suite in (*suites, EVERY) else suite
    suite = suite if suite in suites or (suite == EVERY and len(suites) > 1) else next(iter(suites), "")
    several = suites[:DASHES] if suite == EVERY else [suite]
    runs = [run for run in recent if suite_of(run) in several]
    lines = view.lines(runs[:MOST][::-1])
    return _ChosenSuite(
        name=suite,
        unknown=unknown,
        suites=suites,
        titles=suite_titles(recent),
        recent=recent,
        lines=lines,
        left_out=len(runs) - len(lines),
    )


def page_values(view: StoreView, listed: ListedMetrics, suite: str, name: str) -> Mapping[str, Any]:
    """Values of the template."""
    with view.figures.give_way():
        chosen = _chosen_suite(view, suite)
    suite, lines = chosen.name, chosen.lines
    ids, metrics = [line.run.id for line in lines], listed.of(lines)
    names = dict.fromkeys(metric.name for line in reversed(lines) for metric in line.run.metrics)
    trend_runs = [_trend_run(place, line, metrics.get(line.run.id)) for place, line in enumerate(lines)]
    tagged = [BY_TAG] if parts_of(trend_runs, BY_TAG) else []
    measures = [BY_RATE, *((*tagged, *names) if suite != EVERY else ())]
    shows_all = suite != EVERY and name not in measures
    name = name if name in measures else BY_RATE
    limits = [] if suite == EVERY or not lines else _limits(view, chosen.recent, lines)
    drawn = [one for one in limits or () if (one.metric or BY_RATE) == name]
    trends, unit = trend_lines(trend_runs, name)
    if suite == EVERY:
        trends = pass_rate_lines(trend_runs, chosen.titles)
    if len(trends) == len(drawn) == 1:
        trends = [with_limits(trends[0], drawn[0], ids)]
    panels: list[TrendPanel] = []
    if shows_all:
        panels = list(suite_panels(trend_runs, lines, [BY_RATE, *islice(names, METRICS)], limits or ()))
    elif name == BY_TAG:
        panels = [TrendPanel(title=one.name, unit=unit, lines=[_panel_line(one, name, lines, ())]) for one in trends]
    beside = () if shows_all else panels  # tags have one scale, measures do not
    panel_runs = [_panel_run(one, line) for one, line in zip(trend_runs, lines, strict=True)]
    limit_lines = [limit_line(one, trend_runs, ids) for one in drawn] if len(trends) > 1 else []
    days, title = [one_line(line.run.created[:10]) for line in lines], one_line(name, 60)
    whole = [line for line in lines if is_whole(line.run)]
    return {
        "shows_all": shows_all,
        "panels": [(panel, newest_point(panel, panel_runs), draw_panel(panel, panel_runs, beside)) for panel in panels],
        "chart": Markup() if panels else draw_trend(trends, days, title, unit=unit),
        "limits": [(line.name, draw_trend([line], days, title, unit=unit)) for line in limit_lines],
        "outcomes": {one.outcome for one in panel_runs},
        **_limit_values(limits, drawn, limits or () if shows_all else drawn),
        "newest_whole": whole[-1] if whole and whole[-1] is not lines[-1] else None,
        "by_tag": BY_TAG,
        "most_tags": TAGS,
        "metrics": len(names),
        "most_metrics": METRICS,
        "has_tags": bool(tagged),
        "measure_title": measure_title,
        "suites": chosen.suites,
        "suite_titles": chosen.titles,
        "unknown": chosen.unknown,
        "searched_runs": _SEARCHED_RUNS,
        "every": EVERY,
        "suite": suite,
        "measures": measures,
        "name": name,
        "trends": trends,
        "newest_run": lines[-1].run if lines else None,
        "heads": [line.name for line in trends] if len(trends) > 1 and suite != EVERY else [],
        "rows": [
            (line, trend_run, _cells(points_of(trend_run, trends), suite))
            for line, trend_run in zip(reversed(lines), reversed(trend_runs), strict=True)
        ],
        "left_out": chosen.left_out,
        "waiting": sum(known is None for known in metrics.values()),
    }


def _limit_values(
    limits: Sequence[MetricSeries] | None, drawn: Sequence[MetricSeries], shown: Sequence[MetricSeries]
) -> Mapping[str, Any]:
    """Values about control limits: those of a suite, None while they are computed, of the drawn measure, and of all shown ones."""
    return {
        "outside": list(_outside_runs(shown)),
        "starts": [_split_run(line, shown) for line in start_lines(drawn)],
        "has_limits": _has_limits(shown),
        "false_alarms": false_alarm_sentence(limits or ()),
        "limits_wait": limits is None,
    }


def is_whole(run: Run) -> bool:
    """Return whether a run ended with all cases of its suite."""
    return run.status == "complete" and not run.is_part


def _cells(points: Sequence[TrendPoint | None], suite: str) -> Sequence[TrendPoint | None]:
    """Return a run's points, one for each column; of all suites, a run has a point on the line of its own."""
    return [next(filter(None, points), None)] if suite == EVERY else points


def _outside_runs(series: Sequence[MetricSeries]) -> Iterator[tuple[str, Run | None, str]]:
    """Yield each run that is outside of control limits, and all that is to say about it."""
    lines = [(change, *_split_run(line, series)) for change, line in outside_lines(series)]
    for (change, _), several in groupby(lines, lambda found: (found[0], found[1] and found[1].id)):
        found = list(several)
        yield change, found[0][1], ": " + "; ".join(sentence.removeprefix(": ") for _, _, sentence in found)


def _split_run(sentence: str, series: Sequence[MetricSeries]) -> tuple[Run | None, str]:
    """Split a sentence that starts with the name of a run into the run and the rest."""
    runs = {run_name(run): run.run for one in series for run in one.runs}
    name = max((name for name in runs if sentence.startswith(f"{name}:")), key=len, default="")
    return runs.get(name), sentence.removeprefix(name)


def _has_limits(series: Sequence[MetricSeries]) -> bool:
    """Return whether a run has control limits: the first runs of a series have none."""
    points = (one.point for several in series for one in several.runs)
    return any(end is not None for point in points for end in (point.low, point.high))


def _limits(view: StoreView, recent: Sequence[Run], lines: Sequence[RunLine]) -> list[MetricSeries] | None:
    """Return each metric of a suite with its control limits; None while they are computed."""
    runs = runs_of_series(lines[-1].run, recent)
    trials = sum(line.trials for line in lines) * max(1, len(runs) // len(lines))
    names, state = tuple(run.id for run in runs), [run.finished for run in runs]
    task = Task(kind="limits", names=names, state=state, trials=trials)
    try:
        series = view.figures.result(task, lambda yielding: metric_series([run_values(yielding(run)) for run in runs]))
    except EvalmarkError:  # a result is damaged, or a run was deleted: its own page shows the error
        return []
    return None if series is None else [newest_runs(one, MOST) for one in series]


def suite_panels(
    trend_runs: Sequence[TrendRun], lines: Sequence[RunLine], measures: Sequence[str], limits: Sequence[MetricSeries]
) -> Iterator[TrendPanel]:
    """Yield the panels of a suite: the pass rate, each metric, cost and time."""
    for name in measures:
        trends, unit = trend_lines(trend_runs, name)
        drawn = [_panel_line(line, name, lines, limits if len(trends) == 1 else ()) for line in trends if line.points]
        if drawn:
            yield TrendPanel(title=measure_title(name), measure=name, unit=unit, lines=drawn)
    costs = {place: _cost_point(line) for place, line in enumerate(lines)}
    if known := {place: point for place, point in costs.items() if point is not None}:
        yield TrendPanel(title="Cost of a trial", note="judges included", unit="dollars", lines=[("cost", known)])
    tokens = {place: _token_point(line) for place, line in enumerate(lines)}
    if used := {place: point for place, point in tokens.items() if point is not None}:
        yield TrendPanel(title="Tokens of a trial", note="judges included", lines=[("tokens", used)])
    times = [("median", "median_seconds"), ("95th percentile", "p95_seconds")]
    if drawn := [(title, points) for title, field in times if (points := _time_points(trend_runs, field))]:
        yield TrendPanel(title="Time of an output", note=drawn[0][0], unit="seconds", lines=drawn)


def measure_title(name: str) -> str:
    """Return a measure as a heading: the name of a metric is left as it is."""
    return name.capitalize() if name in (BY_RATE, BY_TAG) else name


def _panel_line(
    line: TrendLine, name: str, lines: Sequence[RunLine], limits: Sequence[MetricSeries]
) -> tuple[str, Mapping[int, PanelPoint]]:
    several = [one for one in limits if (one.metric or BY_RATE) == name]
    if len(several) == 1:
        line = with_limits(line, several[0], [line.run.id for line in lines])
    return line.name, {
        point.place: PanelPoint(
            value=point.value,
            text=point.text,
            interval=point.interval,
            interval_text=point.interval_text,
            limits=point.limits,
            change=point.change,
        )
        for point in line.points
    }


def _cost_point(line: RunLine) -> PanelPoint | None:
    """Return what a trial cost; None if a price is unknown, or cached replies made the run cheaper."""
    spent = total_spending(priced_spending(line.spending))
    if spent.cost is None or spent.unknown_cost or spent.replayed or not line.trials:
        return None
    return PanelPoint(value=spent.cost / line.trials, text=money(spent.cost / line.trials))


def _token_point(line: RunLine) -> PanelPoint | None:
    """Return the tokens of a trial; None if a call did not report them, or cached replies left some out."""
    spent = total_spending(one for one in line.spending if one.is_model)
    tokens = spent.input_tokens + spent.output_tokens
    if not tokens or spent.unknown_usage or spent.replayed or not line.trials:
        return None
    return PanelPoint(value=tokens / line.trials, text=f"{tokens / line.trials:,.0f} tokens")


def _time_points(trend_runs: Sequence[TrendRun], field: str) -> Mapping[int, PanelPoint]:
    values = {one.place: getattr(one.metrics, field) for one in trend_runs if one.metrics is not None}
    return {
        place: PanelPoint(value=value, text=duration(value)) for place, value in values.items() if value is not None
    }


def _panel_run(trend_run: TrendRun, line: RunLine) -> PanelRun:
    outcome = trend_run.metrics.outcome if trend_run.metrics else ""
    return PanelRun(
        href=run_path(line.run.id), description=trend_run.description, outcome=outcome, is_whole=is_whole(line.run)
    )


def suite_titles(runs: Sequence[Run]) -> Mapping[str, str]:
    """Return what to call each series of runs: the name of its newest run, and its file where another has this name too."""
    names = {suite_of(run): one_line(run.name, 60) or suite_of(run) for run in runs}
    several = Counter(names.values())
    return {suite: suite if several[name] > 1 else name for suite, name in names.items()}


def _trend_run(place: int, line: RunLine, metrics: RunMetrics | None) -> TrendRun:
    run = line.run
    what = [one_line(run.given_name, 60) or one_line(run.name, 60), one_line(run.created)]
    what += ["some of its cases"] if run.is_part else []
    description = ", ".join([*what, *([] if run.status == "complete" else [run.status])])
    return TrendRun(
        place=place, description=description, series=suite_of(line.run), passed=line.passed, metrics=metrics
    )
