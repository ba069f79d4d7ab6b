"""The page of one result: what was asked and answered, what every score says, and every call that was made for it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalmark.core.errors import StoreError
from evalmark.core.values.call import Call
from evalmark.core.values.plain_data import plain
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Result, Score
from evalmark.core.values.tool import ToolRecording
from evalmark.inputs.documents.masking import masked_data
from evalmark.reports.html.scores import kind_of
from evalmark.reports.text import verdicts
from evalmark.reports.text.raised import ERROR_FIELDS
from evalmark.reports.text.transcripts import step_count, steps
from evalmark.reports.viewer.urls.queries import CasesAsked
from evalmark.storage.queries.pages import NumberedResult
from evalmark.tracing.annotations.labels import result_subject

from .comparisons import against_earlier, held_to_flips
from .labels import Said, fields_of, said_of
from .page_context import Desk
from .run_page import asked_of
from .store_view import Shelf

MOST_STEPS = 500
MOST_CALLS = 100
MOST_CONTEXTS = 200
MOST_SCORES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A call of a model or a tool, where it is still recorded."""

    number: int
    """From 1, in the order of the page."""
    key: str
    call: Call | None = None
    tool: ToolRecording | None = None
    trouble: str = ""
    scores: tuple[str, ...] = ()
    """The scores that it was made for; empty for calls of the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A score with what its page shows of it."""

    score: Score
    kind: str
    standing: str
    metric: Metric | None
    calls: tuple[int, ...]
    """The numbers of the calls that were made for it."""
    unsupported: Mapping[str, str]
    detail: Mapping[str, Any]


def routes(desk: Desk) -> list[Route]:
    """Where the page stands, and all of the result as JSON."""
    path = "/runs/{run}/results/{number}"
    return [Route(path, partial(_answer, desk)), Route(f"{path}/whole.json", partial(_download, desk))]


def _answer(desk: Desk, request: Request) -> Response:
    run = desk.run(request)
    asked = asked_of(desk, request, run)
    if asked.flipped:
        asked = held_to_flips(asked, against_earlier(desk.shelf, run).held)
    with desk.shelf.figures.give_way():
        found = values(desk.shelf, run, desk.number(request), asked)
    if found is None:
        raise HTTPException(404, f"{run.id} has no such result, or no longer.")
    said = _said(desk, request, run, found["result"])
    return desk.page(request, "case.html", {**found, "said": said[0], "said_of_scores": said[1:]})


def _download(desk: Desk, request: Request) -> Response:
    run, number = desk.run(request), desk.number(request)
    result = desk.shelf.browsing(run).result(number)
    if result is None:
        raise HTTPException(404, f"{run.id} has no such result, or no longer.")
    text = json.dumps(masked_data(plain(result)), ensure_ascii=True, indent=2)
    headers = {"content-disposition": f'attachment; filename="result-{number}.json"'}
    return Response(text, media_type="application/json", headers=headers)


def _said(desk: Desk, request: Request, run: Run, result: Result) -> list[Said]:
    """What people say of the answer, then of each score."""
    number = desk.number(request)
    metrics = ["", *(score.name for score in result.scores[:MOST_SCORES])]
    things = [(result_subject(run.id, result, metric or None), fields_of(run.id, number, metric)) for metric in metrics]
    said = said_of(desk.shelf.store, things, desk.author(request))
    return [said[subject.about] for subject, _ in things]


def values(shelf: Shelf, run: Run, number: int, asked: CasesAsked) -> Mapping[str, Any] | None:
    """What the template needs; None where there is no such result."""
    browsing = shelf.browsing(run)
    result = browsing.result(number)
    if result is None:
        return None
    calls = list(_calls(shelf, result))
    metrics = metrics_for(run.metrics, result.trial.dataset)
    scores = [_judged(score, calls, metrics) for score in result.scores[:MOST_SCORES]]
    contexts = result.trial.case.contexts_of(result.output) or ()
    return {
        "run": run,
        "asked": asked,
        "number": number,
        "around": browsing.neighbours(asked.wanted, number, shelf.known(run, asked.wanted)),
        "result": result,
        "trial": result.trial,
        "case": result.trial.case,
        "output": result.output,
        "metadata": _without_error_fields(result.output.metadata) if result.output.error else result.output.metadata,
        "beside": _others(browsing.results_of_same_case(number), number),
        "scores": scores,
        "all_scores": len(result.scores),
        "unsupported": [sentence for judged in scores for sentence in judged.unsupported],
        "calls": calls,
        "steps": steps(result, most=MOST_STEPS),
        "all_steps": step_count(result),
        "all_calls": len(result.calls),
        "contexts": contexts[:MOST_CONTEXTS],
        "all_contexts": len(contexts),
    }


def _others(beside: Sequence[NumberedResult], number: int) -> Sequence[NumberedResult]:
    """The results of the same case, where there are any but this one."""
    return beside if any(kept.number != number for kept in beside) else ()


def _calls(shelf: Shelf, result: Result) -> Iterator[Recorded]:
    of_scores = {key: score.name for score in result.scores for key in _keys(score)}
    for number, key in enumerate(islice(result.calls, MOST_CALLS), start=1):
        names = tuple(dict.fromkeys(s.name for s in result.scores if key in _keys(s))) if key in of_scores else ()
        yield _found(shelf, Recorded(number=number, key=key, scores=names))


def _found(shelf: Shelf, recorded: Recorded) -> Recorded:
    """The same with the call, where it is still there and whole."""
    recordings = shelf.store.recordings
    try:
        call = recordings.call(recorded.key)
        tool = recordings.tool_call(recorded.key) if call is None else None
    except StoreError as error:
        return replace(recorded, trouble=str(error))
    return replace(recorded, call=call, tool=tool)


def _keys(score: Score) -> list[str]:
    keys = score.detail.get("calls")
    return [key for key in keys if isinstance(key, str)] if isinstance(keys, list | tuple) else []


def _judged(score: Score, calls: Sequence[Recorded], metrics: Mapping[str, Metric]) -> Judged:
    keys = set(_keys(score))
    return Judged(
        score=score,
        kind=kind_of(score),
        standing=verdicts.standing(score, metrics),
        metric=metrics.get(score.name),
        calls=tuple(recorded.number for recorded in calls if recorded.key in keys),
        unsupported=verdicts.unsupported(score),
        detail=_without_error_fields({name: value for name, value in score.detail.items() if name != "calls"}),
    )


def _without_error_fields(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The rest of what is kept beside an error, which is shown on its own."""
    return {name: value for name, value in kept.items() if name not in ERROR_FIELDS}
