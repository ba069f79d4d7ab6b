"""The page of all recorded sessions, newest first, filtered by the address."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.values.label import about_span
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.reports.viewer.urls.paths import encode_query_name, session_path
from evalmark.reports.viewer.urls.search_terms import short_number
from evalmark.reports.viewer.urls.session_query import SESSION_LABELS, parse_session_query
from evalmark.storage.sessions.pages import SessionLine
from evalmark.tracing.annotations.labels import LabelSubject

from .labels import LabelView, label_views
from .page_context import PageContext

SIZE = 50
_MOST_LABELLED = 100
"""Most answers of a session whose labels a list counts."""
_UNQUOTED = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session with the labels of its answers."""

    line: SessionLine
    labels: Sequence[LabelView]
    """Of its first answers."""

    @property
    def thumbs(self) -> Mapping[str, int]:
        """Count these answers as good, bad, open and not labelled."""
        words = [{True: "good", False: "bad", None: "disputed"}[one.liked] if one.labels else "" for one in self.labels]
        return {word: words.count(word) for word in ("good", "bad", "disputed", "") if word in words}


def show(context: PageContext, request: Request) -> Response:
    """Show the page."""
    traffic = context.view.store.sessions
    query = parse_session_query(request.query_params)
    with context.view.figures.give_way():
        page = traffic.browse(query.conditions, below=query.below, above=query.above, limit=SIZE)
        projects, templates = traffic.names()
        total = traffic.count()
    values = {
        "query": query,
        "rows": _rows(context, page.lines, context.author(request)),
        "page": page,
        "projects": projects,
        "templates": templates,
        "total": total,
        "short_number": short_number,
        "labelled": SESSION_LABELS,
        "encode_query_name": encode_query_name,
        "session_path": session_path,
        "datasets": [
            _dataset(name) for name in ([query.conditions.project] if query.conditions.project else projects[:20])
        ],
    }
    return context.page(request, "sessions.html", values)


def _rows(context: PageContext, lines: Sequence[SessionLine], author: str) -> list[SessionRow]:
    subjects = {}
    for line in lines:
        title = f"the answer of session {line.session.id}"
        for span in line.answers[:_MOST_LABELLED]:
            # The labelled content is read only when a label is saved.
            subjects[span] = LabelSubject(about=about_span(span), content="", title=title), {"span": span}
    views = label_views(context.view.store, subjects.values(), author)
    return [
        SessionRow(line=line, labels=[views[about_span(span)] for span in line.answers[:_MOST_LABELLED]])
        for line in lines
    ]


def _dataset(project: str) -> Mapping[str, str]:
    """Show how to use a project's labelled answers in a suite and as a file."""
    name = f"{SESSIONS_PREFIX}{project}"
    return {
        "project": project,
        "suite": f"datasets: [{name if _UNQUOTED.fullmatch(project) else json.dumps(name, ensure_ascii=False)}]",
        "command": f"evalmark export {shlex.quote(name)} -o cases.jsonl",
    }
