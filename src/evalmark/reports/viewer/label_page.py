"""Pages to label outputs one by one, blind to scores and other labels, and to show agreement at the end."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from evalmark.core.errors import ConfigError, NotFoundError
from evalmark.reports.viewer.auth.guard import FORM
from evalmark.reports.viewer.urls.paths import encode_name, encode_query_name
from evalmark.reports.viewer.urls.queries import QUEUE, VERDICTS, LabelQueueQuery, parse_label_queue_query
from evalmark.storage.queries.filter import ResultFilter
from evalmark.tracing.annotations.labels import MAX_NAME_CHARS
from evalmark.tracing.annotations.queue import MAX_ITEMS, AnnotatorProgress, OutputSource, QueueItem, queue_agreement
from evalmark.tracing.annotations.samples import draw_sample, drawn_at_random

from .labels import form_fields, label_views
from .page_context import PageContext

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
    response = RedirectResponse(QUEUE + _recorded(context, asked).query(), 303)
    context.remember(request, response, by)
    return response


def _recorded(context: PageContext, asked: LabelQueueQuery) -> LabelQueueQuery:
    """Record the sample of a run that a form asks for; samples of a part of the run are not recorded."""
    is_part = bool(asked.verdict or asked.tag or asked.seed)
    if not asked.run or not asked.n or not context.view.store.is_writable or (is_part and not asked.by_verdict):
        return asked
    source, asked = _source(context, asked), replace(asked, sample=0)
    if asked.by_verdict:
        if is_part:
            raise HTTPException(
                400, "Outputs that are drawn by verdict come from the whole run; leave the filters out."
            )
        try:
            sample = draw_sample(context.view.store.run(source.run), asked.n, asked.by_verdict)
        except ConfigError as fault:
            raise HTTPException(400, str(fault)) from fault
        return LabelQueueQuery(run=source.run, sample=context.view.store.sessions.add_label_sample(sample))
    every = context.view.browsing(context.view.store.run(source.run)).numbers_with_output(ResultFilter())
    items = source.sample(ResultFilter(), asked.n)
    context.view.store.sessions.add_label_sample(drawn_at_random(source.run, items, len(every)))
    return asked


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    asked, by = parse_label_queue_query(request.query_params), context.author(request)
    if not asked.what or not by:
        return choose(context, request)
    source = _source(context, asked)
    items = _items(source, asked)
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


def _items(source: OutputSource, asked: LabelQueueQuery) -> tuple[QueueItem, ...]:
    if not asked.sample:
        return source.sample(_wanted(asked), asked.n or MAX_ITEMS, asked.seed)
    found = source.store.sessions.label_samples(source.run).get(asked.sample)
    if found is None:
        raise NotFoundError(f"{source.run} has no sample {asked.sample} of outputs to label.")
    return source.recorded_sample(found)


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
