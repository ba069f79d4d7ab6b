"""The page of one recorded session: each answer with its question, its steps and what people say of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from evalmark.core.errors import ConfigError
from evalmark.core.values.label import Label
from evalmark.core.values.plain_data import plain
from evalmark.core.values.session import Span
from evalmark.inputs.documents.known import MASK
from evalmark.reports.html.escaping import text_of
from evalmark.reports.viewer.urls.paths import as_said, name_in, session_path
from evalmark.reports.viewer.urls.queries import counted, sessions_asked
from evalmark.storage.sessions.pages import SessionPart
from evalmark.storage.sessions.store import RecordedId
from evalmark.storage.sessions.trees import as_json, by_answer, share_of_time, total_spending
from evalmark.tracing.annotations.labels import find_session_or_span, span_subject

from .labels import Said, said_of
from .page_context import Desk


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldSpan:
    """An answer or a step with what people say of it."""

    span: Span
    said: Said
    history: Sequence[tuple[Label, bool]]
    """Everything ever said of it, and whether that still holds."""
    depth: int = 0
    """Of a step: how many steps it stands within."""
    place: tuple[float, float] | None = None
    """Where in the time of its answer a step began and ended, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with its steps."""

    told: ToldSpan | None
    """None where its steps are shown alone."""
    is_kept: bool
    """Whether the answer is kept; if not, it has not ended, or was lost."""
    steps: Sequence[ToldSpan]

    @property
    def failed(self) -> int:
        """Steps that ended in an error."""
        return sum(step.span.error is not None for step in self.steps)


class Sent(StreamingResponse):
    """A long answer, sent piece by piece, and to its end whether or not anybody still reads it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


def routes(desk: Desk) -> list[Route]:
    """Where the page stands, and all of the session as JSON."""
    path = "/sessions/{session}"
    return [Route(path, partial(_answer, desk)), Route(f"{path}/whole.json", partial(_download, desk))]


def _answer(desk: Desk, request: Request) -> Response:
    traffic = desk.shelf.store.sessions
    reference, after = name_in(request.path_params["session"]), counted(request.query_params.get("after", ""))
    asked = sessions_asked({**request.query_params, "below": "", "above": ""})
    with desk.shelf.figures.give_way():
        part = traffic.part(reference, after or 0)
        if part is None:
            return _led_on(desk, request, reference)
        newer, older = (None, None) if part.number is None else traffic.neighbours(asked.wanted, part.number)
    answers = _answers(desk, part, desk.author(request))
    is_whole = part.shown == part.total
    values = {
        "asked": asked,
        "part": part,
        "session": part.session,
        "answers": answers,
        "newer": newer,
        "older": older,
        "spent": total_spending(part.session.spans) if is_whole else None,
        "taken_out": json.dumps(plain(part.session)).count(MASK),
        "not_kept": MASK,
        "kept_out": kept_out,
        "as_said": as_said,
        "session_path": session_path,
    }
    return desk.page(request, "session.html", values)


def _led_on(desk: Desk, request: Request, reference: str) -> Response:
    """To the session that the command line would show: of an app's key, of the start of an id, of an answer or a step."""
    span, place = reference, desk.shelf.store.sessions.span_position(reference)
    if place is None:
        named = _meant(desk, reference)
        if named.kind == "session":
            return RedirectResponse(session_path(named.id, f"?{request.url.query}" if request.url.query else ""), 303)
        span, place = named.id, desk.shelf.store.sessions.span_position(named.id)
    if place is None:
        raise HTTPException(404, f"{span} was deleted.")
    session, after = place
    return RedirectResponse(session_path(session, f"?after={after}" if after else "") + f"#span-{span}", 303)


def _meant(desk: Desk, reference: str) -> RecordedId:
    """What is recorded under the start of an id, or under an app's key."""
    try:
        named = find_session_or_span(desk.shelf.store, reference)
    except ConfigError as error:
        raise HTTPException(404, str(error)) from error
    if named is None:
        raise HTTPException(404, f"Nothing is recorded under {reference!r}, or no longer.")
    return named


def _download(desk: Desk, request: Request) -> Response:
    traffic = desk.shelf.store.sessions
    identity = name_in(request.path_params["session"])
    part = traffic.part(identity)
    if part is None:
        named = _meant(desk, identity)
        if named.kind == "session" and named.id != identity:
            return RedirectResponse(f"{session_path(named.id)}/whole.json", 303)
        raise HTTPException(404, f"No session {identity!r} is recorded, or no longer.")
    headers = {"content-disposition": 'attachment; filename="session.json"'}
    return Sent(as_json(part.session, traffic.iter_spans(identity)), media_type="application/json", headers=headers)


def kept_out(value: Any) -> Sequence[str]:
    """What stands in a text in the place of something that recording took out of it."""
    return (MASK,) if MASK in text_of(value).shown else ()


def _answers(desk: Desk, part: SessionPart, author: str) -> list[Answer]:
    spans = part.session.spans
    subjects = {span.id: (span_subject(span), {"span": span.id}) for span in spans}
    said = said_of(desk.shelf.store, subjects.values(), author)

    def told(span: Span, depth: int = 0, within: Span | None = None) -> ToldSpan:
        of = said[subjects[span.id][0].about]
        held = set(map(id, of.labels))
        words = [(label, id(label) in held) for label in of.ever]
        place = None if within is None else share_of_time(span, within)
        return ToldSpan(span=span, said=of, history=words, depth=depth, place=place)

    known = part.elsewhere | {span.id for span in spans}
    return [
        Answer(
            told=None if answer is None else told(answer),
            is_kept=answer is not None or steps[0][0].parent in known,
            steps=[told(step, depth, answer) for step, depth in steps],
        )
        for answer, steps in by_answer(spans)
    ]
