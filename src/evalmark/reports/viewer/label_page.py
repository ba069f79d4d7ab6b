"""Labelling one output after the other without seeing what others or a machine say, and how far people agree in the end."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from evalmark.core.errors import NotFoundError
from evalmark.reports.viewer.auth.guard import FORM
from evalmark.reports.viewer.urls.label_queue import QueueAsked, queue_asked
from evalmark.reports.viewer.urls.paths import as_said, named
from evalmark.reports.viewer.urls.queries import VERDICTS
from evalmark.storage.queries.filter import ResultFilter
from evalmark.tracing.annotations.labels import MAX_NAME_CHARS
from evalmark.tracing.annotations.queue import MAX_ITEMS, AnnotatorProgress, OutputSource, QueueItem, queue_agreement

from .labels import fields_of, said_of
from .page_context import Desk

QUEUE = "/label/queue"
_RUNS = 100
"""That are offered."""
_DISPUTED = 200
"""That are listed."""


def routes(desk: Desk) -> list[Route]:
    """Where one chooses what to label, where that begins, and where it goes on."""
    return [
        Route("/label", partial(_choose, desk)),
        Route("/label/start", partial(_start, desk), methods=["POST"]),
        Route(QUEUE, partial(_answer, desk)),
    ]


def _choose(desk: Desk, request: Request) -> Response:
    store = desk.shelf.store
    asked = queue_asked(request.query_params)
    runs = [*store.runs(_RUNS)]
    if asked.run and all(run.id != asked.run for run in runs):
        with suppress(NotFoundError):
            runs = [*{run.id: run for run in (*runs, store.run(asked.run))}.values()]
    values = {"asked": asked, "runs": runs, "projects": store.sessions.projects(), "verdicts": VERDICTS, "named": named}
    return desk.page(request, "label.html", values)


def _start(desk: Desk, request: Request) -> Response:
    """Begin, under the name that the form gives: it stands in no address, since addresses are handed on to others."""
    form: Mapping[str, str] = request.scope[FORM]
    asked, by = queue_asked(form), form.get("by", "").strip()[:MAX_NAME_CHARS]
    if not asked.what or not by:
        missing = "what you want to label" if not asked.what else "who you are"
        raise HTTPException(400, f"The form does not say {missing}; go back and fill it in.")
    response = RedirectResponse(QUEUE + asked.query(), 303)
    desk.remember(request, response, by)
    return response


def _answer(desk: Desk, request: Request) -> Response:
    asked, by = queue_asked(request.query_params), desk.author(request)
    if not asked.what or not by:
        return _choose(desk, request)
    source = _source(desk, asked)
    items = source.drawn(_wanted(asked), asked.n or MAX_ITEMS, asked.seed)
    part = AnnotatorProgress(items=items, labels=source.labels(items), by=by)
    at = asked.at - 1 if 0 < asked.at <= len(items) else part.following(asked.start - 1)
    asked = replace(asked, run=source.run)
    values = {"asked": asked, "part": part, "at": at, "queue": QUEUE, "source": source}
    if at is None:
        return desk.page(request, "agreement.html", {**values, **_agreed(source, part), "as_said": as_said})
    undo = None if part.last is None else _fields(source, items[part.last])
    return desk.page(request, "queue.html", {**values, "undo": undo, **_seen(desk, source, part, at)})


def _source(desk: Desk, asked: QueueAsked) -> OutputSource:
    if not asked.run:
        return OutputSource(ledger=desk.shelf.store, project=asked.project)
    run = desk.shelf.store.run(asked.run)
    return OutputSource(ledger=desk.shelf.store, run=run.id, browsing=desk.shelf.browsing(run))


def _wanted(asked: QueueAsked) -> ResultFilter:
    return ResultFilter(verdicts=tuple(name for name in VERDICTS if name == asked.verdict), tag=asked.tag)


def _seen(desk: Desk, source: OutputSource, part: AnnotatorProgress, at: int) -> Mapping[str, Any]:
    """An output and what is said of it: by this person alone, as long as he or she is not done."""
    item = part.items[at]
    shown = source.shown(item)
    said = said_of(desk.shelf.store, [(shown.subject, _fields(source, item))], part.by)[shown.subject.about]
    return {"shown": shown, "said": said if part.is_done else replace(said, labels=said.mine)}


def _agreed(source: OutputSource, part: AnnotatorProgress) -> Mapping[str, Any]:
    """How far people agree, with the disputed outputs and their places."""
    found = queue_agreement(source, part)
    places = {item.about: at for at, item in enumerate(part.items, start=1)}
    disputed = [(places[about], source.shown(part.items[places[about] - 1])) for about in found.disputed[:_DISPUTED]]
    return {"found": found, "disputed": disputed}


def _fields(source: OutputSource, item: QueueItem) -> Mapping[str, str]:
    return {"span": item.span} if item.number is None else fields_of(source.run, item.number)
