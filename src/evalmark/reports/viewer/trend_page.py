"""The page of trends: a metric over the runs of one or several suites."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalmark.core.errors import EvalmarkError
from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.html.trend_chart import (
    BY_RATE,
    DASHES,
    RunMetrics,
    TrendRun,
    draw_trend,
    pass_rate_lines,
    points_of,
    trend_lines,
)
from evalmark.reports.html.trend_chart import run_metrics as markup_milestone

from .background import Task, YieldingReader, figures_of
from .cache import RecentCache
from .page_context import PageContext
from .store_view import RunLine, StoreView

MOST = 50
"""Most runs on the chart."""
_LOOKED_AT = 2_000
"""Newest runs whose suites are offered."""
_KEPT = 1_000
EVERY = "*"
"""Selects all suites, one line each."""
_NOTHING = RunMetrics(outcome="", figures={})
"""Metrics of an unreadable run."""

Key = tuple[str, str | None, int]


KnownMetrics = RecentCache[Key, RunMetrics]
"""Cached metrics of finished runs."""


def routes(context: PageContext) -> list[Route]:
    """Routes of the page."""
    return [Route("/course", partial(_answer, context, KnownMetrics(_KEPT)))]


def _answer(context: PageContext, known_metrics: KnownMetrics, request: Request) -> Response:
    query = request.query_params
    found = page_values(context.view, known_metrics, query.get("suite", ""), query.get("of", ""))
    return context.page(request, "course.html", found)


def page_values(view: StoreView, known_metrics: KnownMetrics, suite: str, name: str) -> Mapping[str, Any]:
    """Values of the template."""
    with view.figures.give_way():
        every = view.store.runs(_LOOKED_AT)
        suites = list(dict.fromkeys(map(suite_of, every)))
        suite = suite if suite in suites or (suite == EVERY and len(suites) > 1) else next(iter(suites), "")
        several = suites[:DASHES] if suite == EVERY else [suite]
        runs = [run for run in every if suite_of(run) in several]
        lines = view.lines(runs[:MOST][::-1])
    waiting = [line for line in lines if line.run.status != "running" and known_metrics.get(_key(line)) is None]
    if waiting:
        about = Task(
            kind="course", names=(suite,), state=[*map(_key, waiting)], trials=sum(line.trials for line in waiting)
        )
        view.figures.found(about, partial(_find, known_metrics, waiting))
    known = [known_metrics.get(_key(line)) for line in lines]
    names = dict.fromkeys(metric.name for line in reversed(lines) for metric in line.run.metrics)
    ways = [BY_RATE, *(names if suite != EVERY else ())]
    name = name if name in ways else BY_RATE
    trend_runs = [_passage(place, line, found) for place, (line, found) in enumerate(zip(lines, known, strict=True))]
    drawn, unit = trend_lines(trend_runs, name)
    if suite == EVERY:
        drawn = pass_rate_lines(trend_runs)
    days = [one_line(line.run.created[:10]) for line in lines]
    return {
        "suites": suites,
        "every": EVERY,
        "suite": suite,
        "ways": ways,
        "name": name,
        "drawn": drawn,
        "picture": draw_trend(drawn, days, one_line(name, 60), unit=unit),
        "rows": [
            (line, trend_run, points_of(trend_run, drawn))
            for line, trend_run in zip(reversed(lines), reversed(trend_runs), strict=True)
        ],
        "left_out": len(runs) - len(lines),
        "waiting": sum(
            found is None and line.run.status != "running" for line, found in zip(lines, known, strict=True)
        ),
    }


def _find(known_metrics: KnownMetrics, lines: Sequence[RunLine], patiently: YieldingReader) -> bool:
    """Compute the metrics of these runs; unreadable runs have none."""
    for line in lines:
        try:
            figures = figures_of(patiently(line.run))
            found = markup_milestone(figures.summary, figures.verdict)
        except EvalmarkError:
            found = _NOTHING
        known_metrics.keep(_key(line), found)
    return True


def suite_of(run: Run) -> str:
    """Return the series of a run: its suite file, else its name."""
    return run.suite or run.name


def _key(line: RunLine) -> Key:
    return line.run.id, line.run.finished, line.trials


def _passage(place: int, line: RunLine, milestone: RunMetrics | None) -> TrendRun:
    told = f"{one_line(line.run.name, 60)}, {one_line(line.run.created)}"
    return TrendRun(place=place, told=told, series=suite_of(line.run), passed=line.passed, metrics=milestone)
