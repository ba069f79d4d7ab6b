"""The page of a recorded session: each answer with its input, steps and labels."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from evalmark.core.errors import ConfigError
from evalmark.core.values.label import Label
from evalmark.core.values.plain_data import plain
from evalmark.core.values.session import Span
from evalmark.inputs.secrets.fields import MASK
from evalmark.reports.html.escaping import page_text
from evalmark.reports.html.timeline import TimelineStep, answer_timeline, span_step
from evalmark.reports.viewer.urls.parameters import parse_count
from evalmark.reports.viewer.urls.paths import decode_name, encode_query_name, session_path
from evalmark.reports.viewer.urls.session_query import SessionQuery, parse_session_query
from evalmark.storage.sessions.pages import SessionPart
from evalmark.storage.sessions.store import RecordedId
from evalmark.storage.sessions.trees import as_json, by_answer, share_of_time, total_spending
from evalmark.tracing.annotations.labels import find_session_or_span, span_subject

from .labels import LabelView, label_views
from .page_context import PageContext

_BUDGET, _OF_A_STEP = 28_000, 1_000
"""Characters that the texts of all steps of a page share, and those of the labels and names below each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanView:
    """An answer or a step with its labels."""

    span: Span
    labels: LabelView
    history: Sequence[tuple[Label, bool]]
    """All labels ever given, and whether each is current."""
    depth: int = 0
    """Nesting depth of a step."""
    time_share: tuple[float, float] | None = None
    """Start and end of a step within its answer's time, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """An answer with its steps."""

    view: SpanView | None
    """None if only its steps are shown."""
    is_stored: bool
    """Whether the answer is stored; if not, it has not ended or was lost."""
    steps: Sequence[SpanView]

    @property
    def failed(self) -> int:
        """Number of failed steps."""
        return sum(step.span.error is not None for step in self.steps)

    @property
    def timeline(self) -> list[TimelineStep]:
        """The input, the steps and the output."""
        steps = [span_step(one.span, one.depth, one.time_share) for one in self.steps]
        return steps if self.view is None else answer_timeline(self.view.span, steps)


class UninterruptedResponse(StreamingResponse):
    """A streaming response that runs to its end even if the client disconnects."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    traffic = context.view.store.sessions
    reference, after = decode_name(request.path_params["session"]), parse_count(request.query_params.get("after", ""))
    query = parse_session_query({**request.query_params, "below": "", "above": ""})
    with context.view.figures.give_way():
        part = traffic.part(reference, after or 0)
        if part is None:
            return _redirect_to_session(context, request, reference)
        newer, older = (None, None) if part.number is None else traffic.neighbours(query.conditions, part.number)
    answers = _answers(context, part, context.author(request))
    is_whole = part.shown == part.total
    is_unfolded = request.query_params.get("step") == "all"
    opened = f"span-{request.query_params.get('step', '')[:64]}"
    steps = [step.span for answer in answers for step in answer.steps]
    values = {
        "query": query,
        "part": part,
        "session": part.session,
        "answers": answers,
        "all_steps": [step for answer in answers for step in answer.timeline],
        "opened": opened,
        "after": after,
        "bodies": {
            f"span-{span.id}": session_path(part.session.id, _step_query(query, after, span.id))
            for span in ([] if is_unfolded else _folded(steps, opened))
        },
        "newer": newer,
        "older": older,
        "spent": total_spending(part.session.spans) if is_whole else None,
        "masked": json.dumps(plain(part.session)).count(MASK),
        "mask": MASK,
        "redacted_marks": redacted_marks,
        "encode_query_name": encode_query_name,
        "session_path": session_path,
    }
    return context.page(request, "session.html", values)


def _step_query(query: SessionQuery, after: int | None, span: str) -> str:
    """Return the query of the page that shows a step, and its place there."""
    return f"{query.string(after=after or '', step=span)}#span-{span}"


def _folded(steps: Sequence[Span], opened: str) -> list[Span]:
    """List the steps whose texts the page leaves out, so that it loads at once.

    Those of the step `opened` and of failed steps come first, then those of the others in their order.
    """
    ordered = sorted(steps, key=lambda span: (f"span-{span.id}" != opened, span.error is None))
    sizes = accumulate(_OF_A_STEP + len(json.dumps(plain((span.input, span.output, span.error)))) for span in ordered)
    return [span for span, size in zip(ordered, sizes, strict=True) if size > _BUDGET and f"span-{span.id}" != opened]


def _redirect_to_session(context: PageContext, request: Request, reference: str) -> Response:
    """Redirect to the session of an app's key, an id prefix, an answer or a step."""
    span, position = reference, context.view.store.sessions.span_position(reference)
    if position is None:
        recorded = _find_recorded(context, reference)
        if recorded.kind == "session":
            return RedirectResponse(
                session_path(recorded.id, f"?{request.url.query}" if request.url.query else ""), 303
            )
        span, position = recorded.id, context.view.store.sessions.span_position(recorded.id)
    if position is None:
        raise HTTPException(404, f"{span} was deleted.")
    session, after = position
    return RedirectResponse(session_path(session, f"?after={after}" if after else "") + f"#span-{span}", 303)


def _find_recorded(context: PageContext, reference: str) -> RecordedId:
    """Find what is recorded under an id prefix or an app's key."""
    try:
        recorded = find_session_or_span(context.view.store, reference)
    except ConfigError as error:
        raise HTTPException(404, str(error)) from error
    if recorded is None:
        raise HTTPException(404, f"Nothing is recorded under {reference!r} any more.")
    return recorded


def download(context: PageContext, request: Request) -> Response:
    """Download all of it as JSON."""
    traffic = context.view.store.sessions
    identity = decode_name(request.path_params["session"])
    part = traffic.part(identity)
    if part is None:
        recorded = _find_recorded(context, identity)
        if recorded.kind == "session" and recorded.id != identity:
            return RedirectResponse(f"{session_path(recorded.id)}/whole.json", 303)
        raise HTTPException(404, f"No session {identity!r} is recorded any more.")
    headers = {"content-disposition": 'attachment; filename="session.json"'}
    return UninterruptedResponse(
        as_json(part.session, traffic.iter_spans(identity)), media_type="application/json", headers=headers
    )


def redacted_marks(value: Any) -> Sequence[str]:
    """Return the redaction mark if the text contains it."""
    return (MASK,) if MASK in page_text(value).shown else ()


def _answers(context: PageContext, part: SessionPart, author: str) -> list[AnswerView]:
    spans = part.session.spans
    subjects = {span.id: (span_subject(span), {"span": span.id}) for span in spans}
    views = label_views(context.view.store, subjects.values(), author)

    def view_of(span: Span, depth: int = 0, within: Span | None = None) -> SpanView:
        labels = views[subjects[span.id][0].about]
        current = set(map(id, labels.labels))
        history = [(label, id(label) in current) for label in labels.ever]
        time_share = None if within is None else share_of_time(span, within)
        return SpanView(span=span, labels=labels, history=history, depth=depth, time_share=time_share)

    span_ids = part.elsewhere | {span.id for span in spans}
    return [
        AnswerView(
            view=None if answer is None else view_of(answer),
            is_stored=answer is not None or steps[0][0].parent in span_ids,
            steps=[view_of(step, depth, answer) for step, depth in steps],
        )
        for answer, steps in by_answer(spans)
    ]
