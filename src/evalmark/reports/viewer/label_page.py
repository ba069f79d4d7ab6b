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
    query = parse_label_queue_query(request.query_params)
    runs = [*store.runs(_RUNS)]
    if query.run and all(run.id != query.run for run in runs):
        with suppress(NotFoundError):
            runs = [*{run.id: run for run in (*runs, store.run(query.run))}.values()]
    values = {
        "query": query,
        "runs": runs,
        "projects": store.sessions.projects(),
        "verdicts": VERDICTS,
        "encode_name": encode_name,
    }
    return context.page(request, "label_choice.html", values)


def start(context: PageContext, request: Request) -> Response:
    """Start labelling under the name in the form; it is in no address, since addresses are shared."""
    form: Mapping[str, str] = request.scope[FORM]
    query, by = parse_label_queue_query(form), form.get("by", "").strip()[:MAX_NAME_CHARS]
    if not query.what or not by:
        missing = "what you want to label" if not query.what else "who you are"
        raise HTTPException(400, f"The form does not say {missing}; go back and fill it in.")
    response = RedirectResponse(QUEUE + _recorded(context, query).string(), 303)
    context.remember(request, response, by)
    return response


def _recorded(context: PageContext, query: LabelQueueQuery) -> LabelQueueQuery:
    """Record the sample of a run that a form asks for; samples of a part of the run are not recorded."""
    is_part = bool(query.verdict or query.tag or query.seed)
    if not query.run or not query.n or not context.view.store.is_writable or (is_part and not query.by_verdict):
        return query
    source, query = _source(context, query), replace(query, sample=0)
    if query.by_verdict:
        if is_part:
            raise HTTPException(
                400, "Outputs that are drawn by verdict come from the whole run; leave the filters out."
            )
        try:
            sample = draw_sample(context.view.store.run(source.run), query.n, query.by_verdict)
        except ConfigError as fault:
            raise HTTPException(400, str(fault)) from fault
        return LabelQueueQuery(run=source.run, sample=context.view.store.sessions.add_label_sample(sample))
    every = context.view.browsing(context.view.store.run(source.run)).numbers_with_output(ResultFilter())
    items = source.sample(ResultFilter(), query.n)
    context.view.store.sessions.add_label_sample(drawn_at_random(source.run, items, len(every)))
    return query


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    query, by = parse_label_queue_query(request.query_params), context.author(request)
    if not query.what or not by:
        return choose(context, request)
    source = _source(context, query)
    items = _items(source, query)
    part = AnnotatorProgress(items=items, labels=source.labels(items), by=by)
    at = query.at - 1 if 0 < query.at <= len(items) else part.next_unlabelled(query.start - 1)
    query = replace(query, run=source.run)
    values = {"query": query, "part": part, "at": at, "queue": QUEUE, "source": source}
    if at is None:
        return context.page(
            request, "agreement.html", {**values, **_agreed(source, part), "encode_query_name": encode_query_name}
        )
    undo = None if part.last is None else _fields(source, items[part.last])
    return context.page(request, "label_queue.html", {**values, "undo": undo, **_seen(context, source, part, at)})


def _source(context: PageContext, query: LabelQueueQuery) -> OutputSource:
    if not query.run:
        return OutputSource(store=context.view.store, project=query.project)
    run = context.view.store.run(query.run)
    return OutputSource(store=context.view.store, run=run.id, browsing=context.view.browsing(run))


def _items(source: OutputSource, query: LabelQueueQuery) -> tuple[QueueItem, ...]:
    if not query.sample:
        return source.sample(_wanted(query), query.n or MAX_ITEMS, query.seed)
    sample = source.store.sessions.label_samples(source.run).get(query.sample)
    if sample is None:
        raise NotFoundError(f"{source.run} has no sample {query.sample} of outputs to label.")
    return source.recorded_sample(sample)


def _wanted(query: LabelQueueQuery) -> ResultFilter:
    return ResultFilter(verdicts=tuple(name for name in VERDICTS if name == query.verdict), tag=query.tag)


def _seen(context: PageContext, source: OutputSource, part: AnnotatorProgress, at: int) -> Mapping[str, Any]:
    """An output with its labels; only this person's until everything is labelled."""
    item = part.items[at]
    shown = source.view(item)
    labels = label_views(context.view.store, [(shown.subject, _fields(source, item))], part.by)[shown.subject.about]
    return {"shown": shown, "view": labels if part.is_done else replace(labels, labels=labels.mine)}


def _agreed(source: OutputSource, part: AnnotatorProgress) -> Mapping[str, Any]:
    agreement = queue_agreement(source, part)
    places = {item.about: at for at, item in enumerate(part.items, start=1)}
    disputed = [(places[about], source.view(part.items[places[about] - 1])) for about in agreement.disputed[:_DISPUTED]]
    return {"agreement": agreement, "disputed": disputed}


def _fields(source: OutputSource, item: QueueItem) -> Mapping[str, str]:
    return {"span": item.span} if item.number is None else form_fields(source.run, item.number)
