"""The page of all runs: newest first, searched and filtered by its address."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalmark import wording
from evalmark.values import Run, RunStatus, in_all

from .asking import RunsAsked, runs_asked
from .desk import Desk
from .shelf import RunLine, Shelf

SIZE = 25


def routes(desk: Desk) -> list[Route]:
    """Where the page stands."""
    return [Route("/", partial(_answer, desk))]


def _answer(desk: Desk, request: Request) -> Response:
    return desk.page(request, "runs.html", values(desk.shelf, runs_asked(request.query_params)))


def values(shelf: Shelf, asked: RunsAsked) -> Mapping[str, Any]:
    """What the template needs."""
    with shelf.figures.give_way():
        every = shelf.store.runs()
        wanted = [run for run in every if _is_wanted(run, asked)]
        pages = max(1, -(-len(wanted) // SIZE))
        at = min(asked.page, pages)
        lines = [shelf.line(run) for run in wanted[(at - 1) * SIZE : at * SIZE]]
    return {
        "store": shelf.store.path.name,
        "asked": asked,
        "lines": lines,
        "statuses": get_args(RunStatus),
        "found": len(wanted),
        "total": len(every),
        "page": at,
        "pages": pages,
        "models_of": models_of,
        "cost_of": cost_of,
        "seconds_of": seconds_of,
    }


def models_of(line: RunLine) -> str:
    """The models that were asked, those that judge included."""
    judges = [metric.judge for metric in line.run.metrics if metric.judge]
    return ", ".join(wording.one_line(name) for name in dict.fromkeys([*(s.model for s in line.spending), *judges]))


def cost_of(line: RunLine) -> str:
    """What its calls came to; that a price is unknown is said, and no call is no cost."""
    if not line.spending:
        return ""
    spent = in_all(line.spending)
    known = "" if spent.cost is None else wording.money(spent.cost)
    return f"{known} + unknown" if known and spent.unknown_cost else known or "unknown"


def seconds_of(run: Run) -> float | None:
    """How long the run took from its start to its end; None where it has no end, or a clock leapt."""
    try:
        seconds = (datetime.fromisoformat(run.finished or "") - datetime.fromisoformat(run.created)).total_seconds()
    except (TypeError, ValueError):  # one of them is no date, or says nothing of its zone
        return None
    return seconds if seconds >= 0 else None


def _is_wanted(run: Run, asked: RunsAsked) -> bool:
    if asked.status and run.status != asked.status:
        return False
    models = [spent.model for spent in run.spending]
    said = [run.id, run.name, run.target, run.suite, run.revision, *models]
    said += [info.name for info in run.datasets] + [metric.judge for metric in run.metrics]
    words = asked.text.casefold().split()
    text = "\n".join(said).casefold()
    return all(word in text for word in words)
