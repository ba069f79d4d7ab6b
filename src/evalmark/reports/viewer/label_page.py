"""Pages to label outputs one by one, blind to scores and other labels, and to show agreement at the end."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from evalmark.core.errors import NotFoundError
from evalmark.reports.viewer.auth.guard import FORM
from evalmark.reports.viewer.urls.paths import encode_name, encode_query_name
from evalmark.reports.viewer.urls.queries import VERDICTS, LabelQueueQuery, parse_label_queue_query
from evalmark.storage.queries.filter import ResultFilter
from evalmark.tracing.annotations.labels import MAX_NAME_CHARS
from evalmark.tracing.annotations.queue import MAX_ITEMS, AnnotatorProgress, OutputSource, QueueItem, queue_agreement

from .labels import form_fields, label_views
from .page_context import PageContext

QUEUE = "/label/queue"
_RUNS = 100
"""Most runs offered."""
_DISPUTED = 200
"""Most disputed outputs listed."""


def choose(context: PageContext, request: Request) -> Response:
    """Show the form that chooses what to label."""
    store = context.view.store
    asked = parse_label_queue_query(request.query_params)
    runs = [*store.runs(_RUNS)]
    if asked.run and all(run.id != asked.run for run in runs):
        with suppress(NotFoundError):
            runs = [*{run.id: run for run in (*runs, store.run(asked.run))}.values()]
    values = {
        "asked": asked,
        "runs": runs,
        "projects": store.sessions.projects(),
        "verdicts": VERDICTS,
        "encode_name": encode_name,
    }
    return context.page(request, "label.html", values)


def start(context: PageContext, request: Request) -> Response:
    """Start labelling under the name in the form; it is in no address, since addresses are shared."""
    form: Mapping[str, str] = request.scope[FORM]
    asked, by = parse_label_queue_query(form), form.get("by", "").strip()[:MAX_NAME_CHARS]
    if not asked.what or not by:
        missing = "what you want to label" if not asked.what else "who you are"
        raise HTTPException(400, f"The form does not say {missing}; go back and fill it in.")
    response = RedirectResponse(QUEUE + asked.query(), 303)
    context.remember(request, response, by)
    return response


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    asked, by = parse_label_queue_query(request.query_params), context.author(request)
    if not asked.what or not by:
        return choose(context, request)
    source = _source(context, asked)
    items = source.sample(_wanted(asked), asked.n or MAX_ITEMS, asked.seed)
    part = AnnotatorProgress(items=items, labels=source.labels(items), by=by)
    at = asked.at - 1 if 0 < asked.at <= len(items) else part.next_unlabelled(asked.start - 1)
    asked = replace(asked, run=source.run)
    values = {"asked": asked, "part": part, "at": at, "queue": QUEUE, "source": source}
    if at is None:
        return context.page(
            request, "agreement.html", {**values, **_agreed(source, part), "encode_query_name": encode_query_name}
        )
    undo = None if part.last is None else _fields(source, items[part.last])
    return context.page(request, "queue.html", {**values, "undo": undo, **_seen(context, source, part, at)})


def _source(context: PageContext, asked: LabelQueueQuery) -> OutputSource:
    if not asked.run:
        return OutputSource(store=context.view.store, project=asked.project)
    run = context.view.store.run(asked.run)
    return OutputSource(store=context.view.store, run=run.id, browsing=context.view.browsing(run))


def _wanted(asked: LabelQueueQuery) -> ResultFilter:
    return ResultFilter(verdicts=tuple(name for name in VERDICTS if name == asked.verdict), tag=asked.tag)


def _seen(context: PageContext, source: OutputSource, part: AnnotatorProgress, at: int) -> Mapping[str, Any]:
    """An output with its labels; only this person's until everything is labelled."""
    item = part.items[at]
    shown = source.view(item)
    said = label_views(context.view.store, [(shown.subject, _fields(source, item))], part.by)[shown.subject.about]
    return {"shown": shown, "said": said if part.is_done else replace(said, labels=said.mine)}


def _agreed(source: OutputSource, part: AnnotatorProgress) -> Mapping[str, Any]:
    """Agreement of people, and the disputed outputs."""
    found = queue_agreement(source, part)
    places = {item.about: at for at, item in enumerate(part.items, start=1)}
    disputed = [(places[about], source.view(part.items[places[about] - 1])) for about in found.disputed[:_DISPUTED]]
    return {"found": found, "disputed": disputed}


def _fields(source: OutputSource, item: QueueItem) -> Mapping[str, str]:
    return {"span": item.span} if item.number is None else form_fields(source.run, item.number)
