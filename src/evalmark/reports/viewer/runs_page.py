"""The page of all runs, newest first, filtered by the address."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.money import money
from evalmark.core.text import count, one_line
from evalmark.core.values.run import Run, RunStatus
from evalmark.core.values.session import seconds_between
from evalmark.core.values.spending import total_spending
from evalmark.reports.viewer.urls.paging import Paging
from evalmark.reports.viewer.urls.queries import RunQuery, parse_run_query

from .live_updates import LiveUpdate, not_modified
from .page_context import PageContext
from .store_view import RunLine, StoreView
from .trend_page import suite_of

SIZE = 25
_SUITES = 6
"""Suites named above the list."""
GATED = 20_000
"""Most trials of a run whose gate is shown in the list."""


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    moment = context.view.store.progress()
    if (same := not_modified(request, moment.mark)) is not None:
        return same
    live = None
    if moment.running:
        text = f"{count(len(moment.running), 'run')} in progress"
        live = LiveUpdate(mark=moment.mark, text=text, ended="All runs have ended.")
    values = page_values(context.view, parse_run_query(request.query_params), moment.runs)
    lines = values["lines"]
    metrics = context.metrics.of([line for line in lines if line.trials <= GATED])
    gates = {run: None if known is None else known.outcome for run, known in metrics.items()}
    changes = context.changes.of(lines, moment.runs)
    return context.page(request, "runs.html", {**values, "changes": changes, "gates": gates, "live": live})


def page_values(view: StoreView, query: RunQuery, total: int) -> Mapping[str, Any]:
    """Values of the template; only a search reads all runs."""
    with view.figures.give_way():
        matching = None
        if query.text or query.status:
            matching = [run for run in view.store.runs() if _is_wanted(run, query)]
        paging = Paging(total=total if matching is None else len(matching), size=SIZE, requested=query.page)
        shown = view.store.runs(SIZE, paging.start) if matching is None else paging.part(matching)
        lines = view.lines(shown)
    return {
        "store": view.store.path.name,
        "query": query,
        "lines": lines,
        "suites": _newest_of_suites(lines),
        "statuses": get_args(RunStatus),
        "matching": paging.total,
        "total": total,
        "page": paging.page,
        "pages": paging.pages,
        "models_of": models_of,
        "cost_of": cost_of,
        "seconds_of": seconds_of,
    }


def _newest_of_suites(lines: Sequence[RunLine]) -> list[tuple[str, RunLine]]:
    """Return the newest of the listed runs that ended, for each suite."""
    newest: dict[str, RunLine] = {}
    for line in lines:
        if line.run.status != "running":
            newest.setdefault(suite_of(line.run), line)
    return list(newest.items())[:_SUITES]


def models_of(line: RunLine) -> str:
    """List the models that were called, including judges."""
    judges = [metric.judge for metric in line.run.metrics if metric.judge]
    return ", ".join(one_line(name) for name in dict.fromkeys([*(s.model for s in line.spending), *judges]))


def cost_of(line: RunLine) -> str:
    """Format the cost of a run's calls; empty without calls."""
    if not line.spending:
        return ""
    spent = total_spending(line.spending)
    known = "" if spent.cost is None else money(spent.cost)
    return f"{known} + unknown" if known and spent.unknown_cost else known or "unknown"


def seconds_of(run: Run) -> float | None:
    """Return a run's duration in seconds; None if unknown."""
    return seconds_between(run.created, run.finished or "")


def _is_wanted(run: Run, query: RunQuery) -> bool:
    if query.status and run.status != query.status:
        return False
    models = [spent.model for spent in run.spending]
    fields = [run.id, run.name, run.given_name, *run.tags, run.target, run.suite, run.revision, *models]
    fields += [info.name for info in run.datasets] + [metric.judge for metric in run.metrics]
    words = query.text.casefold().split()
    text = "\n".join(fields).casefold()
    return all(word in text for word in words)
