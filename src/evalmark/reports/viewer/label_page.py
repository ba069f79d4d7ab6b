"""Pages to label outputs one by one, blind to scores and other labels, and to show agreement at the end."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from evalmark.core.errors import ConfigError, NotFoundError
from evalmark.core.text import count, one_line
from evalmark.core.values.label import LabelSample, about_output
from evalmark.core.values.run import Run
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.reports.viewer.auth.guard import FORM
from evalmark.reports.viewer.urls.case_query import VERDICTS
from evalmark.reports.viewer.urls.label_queue_query import QUEUE, LabelQueueQuery, parse_label_queue_query
from evalmark.reports.viewer.urls.paths import encode_name, encode_query_name
from evalmark.storage.queries.filter import ResultFilter
from evalmark.tracing.annotations.agreement import thumbs_of
from evalmark.tracing.annotations.labels import MAX_NAME_CHARS
from evalmark.tracing.annotations.queue import MAX_ITEMS, AnnotatorProgress, OutputSource, QueueItem, queue_agreement
from evalmark.tracing.annotations.samples import (
    CHOSEN,
    chosen_numbers,
    draw_sample,
    drawn_at_random,
    judged_by_several,
    with_threshold,
)

from .judge_rules import judge_rules
from .labels import form_fields, label_views
from .page_context import PageContext

_RUNS = 100
"""Most runs offered."""
_SEARCHED_RUNS = 20
"""Newest runs that are searched for outputs to label."""
_SAMPLES = 10
"""Most samples of a run listed, the newest."""
_DISPUTED = 200
"""Most disputed outputs listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChoice:
    """A run as a source of outputs to label."""

    run: Run
    outputs: int
    """Outputs without an error."""
    labelled: int
    """Those that this person has labelled."""


def choose(context: PageContext, request: Request) -> Response:
    """Show the form that chooses what to label, for the run of the address or the newest one that has something to label."""
    store, by = context.view.store, context.author(request)
    query = parse_label_queue_query(request.query_params)
    runs, projects = [*store.runs(_RUNS)], store.sessions.projects()
    if query.run and all(run.id != query.run for run in runs):
        with suppress(NotFoundError):
            runs = [*{run.id: run for run in (*runs, store.run(query.run))}.values()]
    choice = next((_choice(context, run, by) for run in runs if run.id == query.run), None)
    if choice is None and not query.project:
        choice = _first_with_outputs(context, runs, by)
        query = replace(
            query, run=choice.run.id if choice else "", project=projects[0] if projects and not choice else ""
        )
    values = {
        "query": query,
        "runs": runs,
        "choice": choice,
        "projects": projects,
        "verdicts": VERDICTS,
        "encode_name": encode_name,
        **({"rules": {}} if choice is None else _ways(context, choice.run, by)),
    }
    return context.page(request, "label_choice.html", values)


def _first_with_outputs(context: PageContext, runs: Sequence[Run], by: str) -> RunChoice | None:
    """Return the newest run with outputs that this person has not labelled; else the newest with outputs."""
    choices = [_choice(context, run, by) for run in runs[:_SEARCHED_RUNS]]
    some = [choice for choice in choices if choice.outputs]
    return next((choice for choice in some if choice.labelled < choice.outputs), next(iter(some), None))


def _choice(context: PageContext, run: Run, by: str) -> RunChoice:
    thumbs = thumbs_of(context.view.store.sessions.labels_of_run(run.id))
    outputs = len(context.view.browsing(run).numbers_with_output(ResultFilter()))
    return RunChoice(run=run, outputs=outputs, labelled=sum(by in of for of in thumbs.values()))


def _ways(context: PageContext, run: Run, by: str) -> Mapping[str, Any]:
    """Return the metrics by which outputs of a run can be chosen, and the samples that were drawn already."""
    store = context.view.store
    thumbs = thumbs_of(store.sessions.labels_of_run(run.id))
    samples = [
        (number, sample, sum(by in thumbs.get(about_output(run.id, trial), ()) for trial in sample.trials))
        for number, sample in store.sessions.label_samples(run.id).items()
    ]
    return {
        "near": with_threshold(run),
        "judges": judged_by_several(run),
        "metrics": [*dict.fromkeys(metric.name for metric in run.metrics)],
        "samples": samples[-_SAMPLES:],
        "rules": judge_rules(context.view, run),
    }


def start(context: PageContext, request: Request) -> Response:
    """Start labelling under the name in the form; it is in no address, since addresses are shared."""
    form: Mapping[str, str] = request.scope[FORM]
    by = form.get("by", "").strip()[:MAX_NAME_CHARS]
    query = _with_rule(context, _requested(form), form.get("rule", ""))
    if not query.what or not by:
        missing = "what you want to label" if not query.what else "who you are"
        raise HTTPException(400, f"The form does not say {missing}; go back and fill it in.")
    if query.how:
        with _refused():
            _items(_source(context, query), query, context)
    response = RedirectResponse(QUEUE + _recorded(context, query).string(), 303)
    context.remember(request, response, by)
    return response


def _requested(form: Mapping[str, str]) -> LabelQueueQuery:
    """Read the form: only the fields of the chosen way count."""
    way = form.get("way", "")
    fields = {name: form.get(name, "") for name in ("what", "n", "instructions")}
    if way in CHOSEN:
        return parse_label_queue_query({**fields, "how": way, "metric": form.get(f"{way}_by", "")})
    if way == "verdict":
        return parse_label_queue_query({**fields, "by_verdict": form.get("by_verdict", "")})
    if way == "random":
        return parse_label_queue_query({**fields, "seed": form.get("seed", "")})
    if way == "filter":
        part = {name: form.get(name, "") for name in ("verdict", "tag", "seed")}
        return parse_label_queue_query({**fields, **part})
    return parse_label_queue_query(form)


def _with_rule(context: PageContext, query: LabelQueueQuery, rule: str) -> LabelQueueQuery:
    """Add the rule of a judge as instructions, unless the form has others."""
    if not rule or query.instructions or not query.run:
        return query
    return replace(query, instructions=judge_rules(context.view, context.view.store.run(query.run)).get(rule, ""))


@contextmanager
def _refused() -> Iterator[None]:
    """Answer a request that cannot be met with its reason."""
    try:
        yield
    except ConfigError as fault:
        raise HTTPException(400, str(fault)) from fault


def _recorded(context: PageContext, query: LabelQueueQuery) -> LabelQueueQuery:
    """Record the sample of a run that a form requests; a part of the run and chosen outputs are never recorded as a sample."""
    is_part = bool(query.verdict or query.tag or query.seed or query.how)
    if not query.run or not query.n or not context.view.store.is_writable or (is_part and not query.by_verdict):
        return query
    source, query = _source(context, query), replace(query, sample=0)
    if query.by_verdict:
        if is_part:
            raise HTTPException(
                400, "Outputs that are drawn by verdict come from the whole run; leave the filters out."
            )
        with _refused():
            sample = draw_sample(context.view.store.run(source.run), query.n, query.by_verdict)
        number = context.view.store.sessions.add_label_sample(sample)
        return LabelQueueQuery(run=source.run, sample=number, instructions=query.instructions)
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
    with _refused():
        items = _items(source, query, context)
    part = AnnotatorProgress(items=items, labels=source.labels(items), by=by)
    at = query.at - 1 if 0 < query.at <= len(items) else part.next_unlabelled(query.start - 1)
    query = replace(query, run=source.run)
    undo = None if part.last is None else _fields(source, items[part.last])
    last = "" if part.last is None else part.thumbs[items[part.last].about][by]
    choice = _choice_text(source, query, items)
    values = {"query": query, "part": part, "at": at, "queue": QUEUE, "source": source, "undo": undo, "last": last}
    values |= {"choice": choice, "run": context.view.store.run(source.run) if source.run else None}
    if at is None:
        values["commands"] = _next_commands(context, source, is_drawn=choice[1].startswith("Recorded"))
        return context.page(
            request, "agreement.html", {**values, **_agreed(source, part), "encode_query_name": encode_query_name}
        )
    return context.page(request, "label_queue.html", {**values, **_seen(context, source, part, at)})


def _choice_text(source: OutputSource, query: LabelQueueQuery, items: Sequence[QueueItem]) -> tuple[str, str]:
    """Say which outputs a queue has, and what their labels may be used for."""
    n = len(items)
    if query.how:
        what = {
            "near": f"The {n:,} whose score by {one_line(query.metric, 80)} is the closest to its threshold",
            "judges": f"The {n:,} on which the judges of {one_line(query.metric, 80)} differ most",
        }[query.how]
        return what, "Chosen, not random: not recorded as a sample, and no estimate for the other outputs."
    sample = source.store.sessions.label_samples(source.run).get(query.sample) if query.sample else None
    if sample is not None and sample.by_verdict:
        what = f"{n:,} of {count(sample.outputs, 'output')}, drawn by verdict of {one_line(sample.by_verdict, 80)}"
        return what, "Recorded as a sample; an audit weights passed and failed by their shares in the run."
    if query.verdict or query.tag:
        word = {"pass": "passed", "fail": "failed"}.get(query.verdict, query.verdict)
        parts = [f"the verdict {word}"] if word else []
        parts += [f"the tag {one_line(query.tag, 80)}"] if query.tag else []
        return (
            f"{count(n, 'output')} with {' and '.join(parts)}, in random order",
            "A part of the run, so no sample of all outputs.",
        )
    if query.n or sample is not None:
        recorded = sample or _recorded_sample(source, items)
        if recorded is not None:
            return f"{n:,} of {count(recorded.outputs, 'output')}, drawn at random", "Recorded as a random sample."
        why = (
            ""
            if source.browsing is None
            else "Not recorded as a random sample of the run: for that, begin on the page Label."
        )
        return f"{count(n, 'output')}, drawn at random", why
    return f"All {n:,}, in random order", ""


def _recorded_sample(source: OutputSource, items: Sequence[QueueItem]) -> LabelSample | None:
    """Return the random sample of the run that begins with these outputs; None if none was recorded."""
    begin = about_output(source.run)
    trials = tuple(item.about.removeprefix(begin) for item in items)
    samples = source.store.sessions.label_samples(source.run).values() if source.run else ()
    return next((one for one in samples if not one.by_verdict and one.trials[: len(trials)] == trials), None)


def _source(context: PageContext, query: LabelQueueQuery) -> OutputSource:
    if not query.run:
        return OutputSource(store=context.view.store, project=query.project)
    run = context.view.store.run(query.run)
    return OutputSource(store=context.view.store, run=run.id, browsing=context.view.browsing(run))


def _items(source: OutputSource, query: LabelQueueQuery, context: PageContext) -> tuple[QueueItem, ...]:
    if query.how and source.browsing is not None:
        run = context.view.store.run(source.run)
        key = (run.id, run.finished or "", query.how, query.metric, query.n)
        browsing = source.browsing
        numbers = context.view.chosen.find(key, lambda: chosen_numbers(run, browsing, query.how, query.metric, query.n))
        return source.numbered(numbers)
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


def _next_commands(context: PageContext, source: OutputSource, *, is_drawn: bool) -> list[tuple[str, str]]:
    """List the commands that use the labels of a queue, and what each is for; `is_drawn`: its sample is recorded."""
    flags = context.view.flags
    thresholds = "learns thresholds that let few outputs pass that people call bad"
    if not source.run:
        name = shlex.quote(source.project)
        export = f"evalmark export {shlex.quote(SESSIONS_PREFIX + source.project)} -o cases.jsonl{flags}"
        return [
            (f"evalmark calibrate {name} --metric NAME{flags}", thresholds),
            (export, "writes the labelled outputs as a dataset"),
        ]
    if not context.view.store.run(source.run).metrics:
        rescore = f"evalmark rescore {source.run} --metric NAME{flags}"
        return [(rescore, "adds a metric to the run, which labels can then audit")]
    audit = f"evalmark audit {source.run}{'' if is_drawn else ' --all-labels'}{flags}"
    return [
        (audit, "measures how well each metric agrees with people, and corrects its pass rate"),
        (f"evalmark calibrate {source.run}{flags}", thresholds),
    ]


def _fields(source: OutputSource, item: QueueItem) -> Mapping[str, str]:
    return {"span": item.span} if item.number is None else form_fields(source.run, item.number)
