"""The page of all recorded sessions: newest first, filtered by its address."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalmark.addresses.asking import written
from evalmark.addresses.paths import name_in, named, session_path
from evalmark.labelling import Subject
from evalmark.suites import RECORDED
from evalmark.traffic import STANDINGS, SessionLine, SessionsWanted

from .desk import Desk
from .labels import Said, said_of

SIZE = 50
_MOST_LABELLED = 100
"""Answers of a session whose labels a list looks at."""
_LONGEST = 500
_UNQUOTED = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_MARK = "~"
"""Stands before a name that no address can say as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsAsked:
    """Which sessions, on which page: those older than a number, or newer than one."""

    wanted: SessionsWanted
    below: int | None = None
    above: int | None = None

    def query(self, **changes: Any) -> str:
        """The part of an address behind the `?`, with the question mark; empty where nothing is asked."""
        wanted = self.wanted
        said = {
            "project": as_said(wanted.project),
            "text": wanted.text,
            "labelled": wanted.labelled,
            "failed": "1" if wanted.failed else "",
            "template": as_said(wanted.template),
            "below": self.below,
            "above": self.above,
        }
        return written(said | changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session with what people say of its answers."""

    line: SessionLine
    said: Sequence[Said]
    """Of its first answers."""

    @property
    def thumbs(self) -> Mapping[str, int]:
        """How many of these answers are good, bad, open and not labelled."""
        words = [{True: "good", False: "bad", None: "open"}[one.liked] if one.labels else "" for one in self.said]
        return {word: words.count(word) for word in ("good", "bad", "open", "") if word in words}


def routes(desk: Desk) -> list[Route]:
    """Where the page stands."""
    return [Route("/sessions", partial(_answer, desk))]


def sessions_asked(query: Mapping[str, str]) -> SessionsAsked:
    """What the query of an address asks of the list of sessions; what makes no sense is left out."""
    said = {name: query.get(name, "").strip()[:_LONGEST] for name in ("project", "text", "labelled", "template")}
    below, above = (_number(query.get(name, "")) for name in ("below", "above"))
    wanted = SessionsWanted(
        project=name_said(said["project"]),
        text=said["text"],
        labelled=next((one for one in STANDINGS if one == said["labelled"]), None),
        failed=query.get("failed", "") == "1",
        template=name_said(said["template"]),
    )
    return SessionsAsked(wanted=wanted, below=below, above=None if below is not None else above)


def as_said(name: str) -> str:
    """A name as an address says it: as it is, but for one that cannot be sent so."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return named(name)
    return named(name) if name.startswith(_MARK) or name != name.strip() else name


def name_said(said: str) -> str:
    """The name that `as_said` was given."""
    return name_in(said) if said.startswith(_MARK) else said


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _answer(desk: Desk, request: Request) -> Response:
    traffic = desk.shelf.store.traffic
    asked = sessions_asked(request.query_params)
    with desk.shelf.figures.give_way():
        page = traffic.browse(asked.wanted, below=asked.below, above=asked.above, limit=SIZE)
        projects, templates = traffic.named()
        total = traffic.count()
    values = {
        "asked": asked,
        "rows": _rows(desk, page.lines, desk.author(request)),
        "page": page,
        "projects": projects,
        "templates": templates,
        "total": total,
        "standings": STANDINGS,
        "as_said": as_said,
        "session_path": session_path,
        "datasets": [_dataset(name) for name in ([asked.wanted.project] if asked.wanted.project else projects[:20])],
    }
    return desk.page(request, "sessions.html", values)


def _rows(desk: Desk, lines: Sequence[SessionLine], author: str) -> list[SessionRow]:
    subjects = {}
    for line in lines:
        title = f"the answer of session {line.session.id}"
        for span in line.answers[:_MOST_LABELLED]:
            # What a label is given for is read when it is given; here it is not even looked up.
            subjects[span] = Subject(about=f"span:{span}", content="", title=title), {"span": span}
    said = said_of(desk.shelf.store, subjects.values(), author)
    return [
        SessionRow(line=line, said=[said[f"span:{span}"] for span in line.answers[:_MOST_LABELLED]]) for line in lines
    ]


def _dataset(project: str) -> Mapping[str, str]:
    """How the labelled answers of a project are used: in a suite, and as a file."""
    name = f"{RECORDED}{project}"
    return {
        "project": project,
        "suite": f"datasets: [{name if _UNQUOTED.fullmatch(project) else json.dumps(name, ensure_ascii=False)}]",
        "command": f"evalmark export {shlex.quote(name)} -o cases.jsonl",
    }
