"""The page of one recorded session: each answer with its question, its steps and what people say of it."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from evalmark.documents.secrets import NOT_KEPT
from evalmark.labelling import history, of_span
from evalmark.markup import text_of
from evalmark.traffic import SessionPart, in_order, spent
from evalmark.values import Label, Session, Span, in_force, plain

from .desk import Desk
from .labels import Said, said_of
from .paths import name_in, session_path
from .sessions_page import as_said, sessions_asked


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
    traffic = desk.shelf.store.traffic
    reference, after = name_in(request.path_params["session"]), request.query_params.get("after", "")
    asked = sessions_asked({**request.query_params, "below": "", "above": ""})
    with desk.shelf.figures.give_way():
        part = traffic.part(reference, int(after) if after.isascii() and after.isdigit() and len(after) < 19 else 0)
        if part is None:
            return _led_on(desk, reference)
        newer, older = (None, None) if part.number is None else traffic.beside(asked.wanted, part.number)
    answers = _answers(desk, part, desk.author(request))
    is_whole = part.shown == part.total
    values = {
        "asked": asked,
        "part": part,
        "session": part.session,
        "answers": answers,
        "newer": newer,
        "older": older,
        "spent": spent(part.session.spans) if is_whole else None,
        "taken_out": json.dumps(plain(part.session)).count(NOT_KEPT),
        "not_kept": NOT_KEPT,
        "kept_out": kept_out,
        "as_said": as_said,
        "session_path": session_path,
    }
    return desk.page(request, "session.html", values)


def _led_on(desk: Desk, reference: str) -> Response:
    """To the session of an answer or a step that goes by this id."""
    place = desk.shelf.store.traffic.place_of(reference)
    if place is None:
        raise HTTPException(404, f"Nothing is recorded under {reference!r}, or no longer.")
    session, after = place
    return RedirectResponse(session_path(session, f"?after={after}" if after else "") + f"#span-{reference}", 303)


def _download(desk: Desk, request: Request) -> Response:
    traffic = desk.shelf.store.traffic
    identity = name_in(request.path_params["session"])
    part = traffic.part(identity)
    if part is None:
        raise HTTPException(404, f"No session {identity!r} is recorded, or no longer.")
    headers = {"content-disposition": 'attachment; filename="session.json"'}
    return Sent(whole(part.session, traffic.each_span(identity)), media_type="application/json", headers=headers)


def whole(session: Session, spans: Iterator[Span]) -> Iterator[str]:
    """A session as JSON, piece by piece, with all its spans in the order of recording."""
    header = {field.name: plain(getattr(session, field.name)) for field in fields(session) if field.name != "spans"}
    yield f'{json.dumps(header, indent=2)[:-2]},\n  "spans": ['
    for number, span in enumerate(spans):
        yield f"{',' if number else ''}\n{json.dumps(plain(span), indent=2)}"
    yield "\n]}\n"


def kept_out(value: Any) -> Sequence[str]:
    """What stands in a text in the place of something that recording took out of it."""
    return (NOT_KEPT,) if NOT_KEPT in text_of(value).shown else ()


def _answers(desk: Desk, part: SessionPart, author: str) -> list[Answer]:
    spans = part.session.spans
    subjects = {span.id: (of_span(span), {"span": span.id}) for span in spans}
    said = said_of(desk.shelf.store, subjects.values(), author)
    ever: defaultdict[str, list[Label]] = defaultdict(list)
    for label in history(desk.shelf.store, said):
        ever[label.about].append(label)

    def told(span: Span, depth: int = 0, within: Span | None = None) -> ToldSpan:
        about = subjects[span.id][0].about
        held = set(map(id, in_force(ever[about])))
        words = [(label, id(label) in held) for label in ever[about]]
        place = None if within is None else _place(span, within)
        return ToldSpan(span=span, said=said[about], history=words, depth=depth, place=place)

    known = part.elsewhere | {span.id for span in spans}
    return [
        Answer(
            told=None if answer is None else told(answer),
            is_kept=answer is not None or steps[0][0].parent in known,
            steps=[told(step, depth, answer) for step, depth in steps],
        )
        for answer, steps in _groups(spans)
    ]


def _groups(spans: Sequence[Span]) -> list[tuple[Span | None, list[tuple[Span, int]]]]:
    """Each answer with its steps and how deep these stand; steps of something that is not here without an answer."""
    found: list[tuple[Span | None, list[tuple[Span, int]]]] = []
    without: dict[str, list[tuple[Span, int]]] = {}
    steps: list[tuple[Span, int]] = []
    for span, depth in in_order(spans):
        if not span.parent:
            steps = []
            found.append((span, steps))
            continue
        if depth == 0:
            if span.parent not in without:
                without[span.parent] = []
                found.append((None, without[span.parent]))
            steps = without[span.parent]
        steps.append((span, depth - (found[-1][0] is not None and steps is found[-1][1])))
    return found


def _place(step: Span, answer: Span) -> tuple[float, float] | None:
    """Where in the time of its answer a step was under way; None where a clock or a text says something impossible."""
    try:
        begin = (datetime.fromisoformat(step.started) - datetime.fromisoformat(answer.started)).total_seconds()
    except (TypeError, ValueError):
        return None
    if not answer.seconds or step.seconds is None or begin < 0:
        return None
    return min(1.0, begin / answer.seconds), min(1.0, (begin + step.seconds) / answer.seconds)
