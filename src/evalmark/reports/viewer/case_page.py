"""The page of one result: input, output, scores and calls."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.errors import StoreError
from evalmark.core.text import unwrap_single_input
from evalmark.core.values.call import Call
from evalmark.core.values.plain_data import plain
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Result, Score
from evalmark.core.values.tool import ToolRecording
from evalmark.inputs.secrets.masks import mask_secrets_in_data
from evalmark.reports.html.compared_cases import plain_change
from evalmark.reports.html.escaping import source_text
from evalmark.reports.html.timeline import result_timeline
from evalmark.reports.text import verdicts
from evalmark.reports.text.output_changes import OutputChange
from evalmark.reports.text.verdicts import ERROR_FIELDS, score_kind
from evalmark.reports.viewer.urls.case_query import CaseQuery
from evalmark.storage.queries.pages import NumberedResult
from evalmark.tracing.annotations.labels import result_subject

from .case_history import case_history
from .comparisons import nearest_comparison, only_flipped
from .labels import LabelView, form_fields, label_views
from .page_context import PageContext
from .run_page import query_of
from .store_view import StoreView

MOST_STEPS = 500
MOST_CALLS = 100
MOST_CONTEXTS = 200
MOST_SCORES = 200
MOST_COMPARED = 20_000
"""Characters of an output that is compared with the expected one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A model or tool call of a result, if it is still recorded."""

    number: int
    """From 1, in the order of the page."""
    key: str
    call: Call | None = None
    tool: ToolRecording | None = None
    trouble: str = ""
    scores: tuple[str, ...] = ()
    """Scores that made the call; empty for calls of the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreView:
    """A score as shown on the page."""

    row: int
    """From 1, in the order of the suite."""
    score: Score
    kind: str
    text: str
    threshold: str
    """With its direction; empty if there is none."""
    miss: str
    """The end of a sentence that says how it misses its threshold; empty if it has none."""
    is_deciding: bool
    """Whether it decided the verdict of the trial."""
    metric: Metric | None
    calls: tuple[int, ...]
    """Numbers of its calls."""
    unsupported: Mapping[str, str]
    detail: Mapping[str, Any]


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    run = context.run(request)
    query = query_of(context, request, run)
    if query.changes:
        query = only_flipped(query, nearest_comparison(context.view, run).prepared)
    with context.view.figures.give_way():
        values = page_values(context.view, run, context.number(request), query)
    labels = _all_labels(context, request, run, values["result"])
    return context.page(request, "case.html", {**values, "view": labels[0], "score_views": labels[1:]})


def download(context: PageContext, request: Request) -> Response:
    """Download all of it as JSON."""
    run, number = context.run(request), context.number(request)
    text = json.dumps(mask_secrets_in_data(plain(context.view.result(run, number))), ensure_ascii=True, indent=2)
    headers = {"content-disposition": f'attachment; filename="result-{number}.json"'}
    return Response(text, media_type="application/json", headers=headers)


def download_text(context: PageContext, request: Request) -> Response:
    """Download the input, the output or the expected output as it is stored: a text unchanged, any other value as JSON."""
    run, number, part = context.run(request), context.number(request), request.path_params["part"]
    result = context.view.result(run, number)
    case = result.trial.case
    values = {"input": unwrap_single_input(case.input), "output": result.output.value, "expected": case.expected}
    if values.get(part) is None:
        raise HTTPException(404, f"Case {number} of {run.id} has no text {part!r}.")
    headers = {"content-disposition": f'attachment; filename="{part}-{number}.txt"'}
    text = source_text(mask_secrets_in_data(plain(values[part])))
    return Response(text.encode("utf-8", "replace"), media_type="text/plain", headers=headers)


def _all_labels(context: PageContext, request: Request, run: Run, result: Result) -> list[LabelView]:
    """Labels of the output, then of each score."""
    number = context.number(request)
    metrics = ["", *(score.name for score in result.scores[:MOST_SCORES])]
    subjects = [
        (result_subject(run.id, result, metric or None), form_fields(run.id, number, metric)) for metric in metrics
    ]
    views = label_views(context.view.store, subjects, context.author(request))
    return [views[subject.about] for subject, _ in subjects]


def page_values(view: StoreView, run: Run, number: int, query: CaseQuery) -> Mapping[str, Any]:
    """Values of the template."""
    browsing, result = view.browsing(run), view.result(run, number)
    calls = list(_calls(view, result))
    metrics = metrics_for(run.metrics, result.trial.dataset)
    cause, deciding = verdicts.verdict_cause(result)
    scores = [
        _score_view(row, score, calls, metrics.get(score.name), is_deciding=any(score is one for one in deciding))
        for row, score in enumerate(result.scores[:MOST_SCORES], start=1)
    ]
    contexts = result.trial.case.contexts_of(result.output) or ()
    of_target = [(one.number, one.call) for one in calls if one.call is not None and not one.scores]
    timeline, all_steps = result_timeline(result.output, result.trial.case.input, of_target, MOST_STEPS)
    around = browsing.neighbours(query.conditions, number, view.known(run, query.conditions))
    if around.is_unfinished:
        view.search(run, query.conditions)
    return {
        "run": run,
        "query": query,
        "number": number,
        "around": around,
        "result": result,
        "trial": result.trial,
        "case": result.trial.case,
        "output": result.output,
        "metadata": _without_error_fields(result.output.metadata) if result.output.error else result.output.metadata,
        "same_case": _others(browsing.results_of_same_case(number), number),
        "difference": _difference(result),
        "past": case_history(view, run, result),
        "scores": sorted(scores, key=lambda judged: not judged.is_deciding),
        "all_scores": len(result.scores),
        "unsupported": [sentence for judged in scores for sentence in judged.unsupported],
        "calls": calls,
        "cause": cause,
        "timeline": timeline,
        "all_steps": all_steps,
        "all_calls": len(result.calls),
        "contexts": contexts[:MOST_CONTEXTS],
        "all_contexts": len(contexts),
    }


def _difference(result: Result) -> OutputChange | None:
    """Compare the output with the expected one; None if one of them is missing or too long."""
    expected, value = result.trial.case.expected, result.output.value
    if expected is None or value is None or result.output.error is not None:
        return None
    texts = source_text(expected), source_text(value)
    if texts[0].strip() == texts[1].strip():
        return OutputChange("same")
    change = plain_change(expected, value) if max(map(len, texts)) <= MOST_COMPARED else None
    return None if change is None or change.kind == "same" else change  # such as other blanks in JSON


def _others(results: Sequence[NumberedResult], number: int) -> Sequence[NumberedResult]:
    return results if any(other.number != number for other in results) else ()


def _calls(view: StoreView, result: Result) -> Iterator[RecordedCall]:
    of_scores = {key: score.name for score in result.scores for key in _keys(score)}
    for number, key in enumerate(islice(result.calls, MOST_CALLS), start=1):
        names = tuple(dict.fromkeys(s.name for s in result.scores if key in _keys(s))) if key in of_scores else ()
        yield _found(view, RecordedCall(number=number, key=key, scores=names))


def _found(view: StoreView, recorded: RecordedCall) -> RecordedCall:
    recordings = view.store.recordings
    try:
        call = recordings.call(recorded.key)
        tool = recordings.tool_call(recorded.key) if call is None else None
    except StoreError as error:
        return replace(recorded, trouble=str(error))
    return replace(recorded, call=call, tool=tool)


def _keys(score: Score) -> list[str]:
    keys = score.detail.get("calls")
    return [key for key in keys if isinstance(key, str)] if isinstance(keys, list | tuple) else []


def _score_view(
    row: int, score: Score, calls: Sequence[RecordedCall], metric: Metric | None, *, is_deciding: bool
) -> ScoreView:
    keys = set(_keys(score))
    return ScoreView(
        row=row,
        score=score,
        kind=score_kind(score),
        text=verdicts.short_score(score, metric),
        threshold=verdicts.threshold_text(score, metric),
        miss=verdicts.missed_threshold(score, metric),
        is_deciding=is_deciding,
        metric=metric,
        calls=tuple(recorded.number for recorded in calls if recorded.key in keys),
        unsupported=verdicts.unsupported_claims(score),
        detail=_without_error_fields({name: value for name, value in score.detail.items() if name != "calls"}),
    )


def _without_error_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in ERROR_FIELDS}
