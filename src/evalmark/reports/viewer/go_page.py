"""The page of destinations: pages, suites, metrics and runs by name; a script shows it over any page (palette.js)."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from evalmark.core.errors import EvalmarkError
from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.text.numbers import minute
from evalmark.reports.viewer.urls.parameters import query_string
from evalmark.reports.viewer.urls.paths import decode_name, label_path, run_path
from evalmark.stats.comparison.baseline_choice import suite_of

from .page_context import PageContext
from .store_view import StoreView
from .trend_page import suite_titles

_SEARCHED_RUNS = 500
"""Newest runs that are searched."""
_MOST = 8
"""Most destinations of a kind."""
_RUN_PAGE = re.compile(r"/runs/([^/?]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A page that the list of destinations offers."""

    kind: str
    title: str
    href: str
    note: str = ""
    searched: str = ""
    """Words that find it, besides those that are shown."""
    downloads: bool = False


_PAGES = (
    Destination(kind="page", title="Runs", href="/", note="all runs, newest first"),
    Destination(kind="page", title="Trends", href="/trends", note="measures of a suite over its runs"),
    Destination(kind="page", title="Label", href="/label", note="choose outputs to label"),
    Destination(kind="page", title="Sessions", href="/sessions", note="what an app recorded"),
    Destination(kind="page", title="Grid", href="/grid", note="cases against targets"),
    Destination(kind="page", title="Compare the newest run", href="/compare?run=last", note="with the one before"),
)


def show(context: PageContext, request: Request) -> Response:
    """Show the page; `at` is the path of the page that the user came from."""
    words, at = request.query_params.get("q", "").strip()[:200], request.query_params.get("at", "")[:500]
    found, has_more = matching(destinations(context.view, at), words)
    is_page = at.startswith("/") and not at.startswith(("//", "/go"))
    share = f"evalmark view {shlex.quote(at)}" if is_page else ""
    values = {"words": words, "at": at, "destinations": found, "has_more": has_more, "share": share}
    return context.page(request, "go.html", values)


def destinations(view: StoreView, at: str) -> Iterator[Destination]:
    """Yield everything that can be gone to, first what concerns the run of the page `at`."""
    yield from _of_run(view, at)
    yield from _PAGES
    recent = view.store.runs(_SEARCHED_RUNS)
    yield from _of_suites(recent)
    for run in recent:
        title = " · ".join(filter(None, (one_line(run.name, 60) or run.id, one_line(run.given_name, 40))))
        started = f"{found} UTC" if (found := minute(run.created)) else one_line(run.created, 40)
        shown = (started, one_line(run.target, 40), one_line(" · ".join(run.tags), 60))
        note = " · ".join(filter(None, shown))
        yield Destination(kind="run", title=title, href=run_path(run.id), note=note, searched=run.id)


def _of_run(view: StoreView, at: str) -> Iterator[Destination]:
    match = _RUN_PAGE.match(at)
    if match is None:
        return
    try:
        run = view.store.run(decode_name(match[1]))
    except EvalmarkError:  # it was deleted
        return
    path, name = run_path(run.id), one_line(run.name, 40) or run.id
    compare, suite = query_string({"run": run.id}), query_string({"suite": suite_of(run)})
    for title, href, note in (
        ("Failed cases of this run", f"{path}?verdict=fail#cases", name),
        ("Errors of this run", f"{path}?verdict=error#cases", name),
        ("Compare this run with the one before", f"/compare{compare}", name),
        ("Charts of this run", f"{path}/charts", name),
        ("This suite over time", f"/trends{suite}", suite_of(run)),
        ("Label a sample of this run", label_path(run.id), name),
    ):
        yield Destination(kind="action", title=title, href=href, note=note)
    for file, note in (("cases.csv", "CSV"), ("cases.jsonl", "JSONL"), ("dataset.jsonl", "a dataset for evalmark run")):
        yield Destination(
            kind="action", title=f"Download the cases of this run: {note}", href=f"{path}/export/{file}", downloads=True
        )


def _of_suites(recent: Sequence[Run]) -> Iterator[Destination]:
    metrics: dict[str, dict[str, None]] = {}
    titles = suite_titles(recent)
    for run in recent:
        metrics.setdefault(suite_of(run), {}).update(dict.fromkeys(metric.name for metric in run.metrics))
    for suite in metrics:
        yield Destination(
            kind="suite",
            title=titles[suite] or "Runs without a name",
            href=f"/trends{query_string({'suite': suite})}",
            note="over time" if suite == titles[suite] else f"over time · {one_line(suite, 60)}",
        )
    for suite, names in metrics.items():
        for name in names:
            href = f"/trends{query_string({'suite': suite, 'of': name})}"
            yield Destination(
                kind="metric", title=one_line(name, 60), href=href, note=f"over the runs of {titles[suite]}"
            )


def matching(every: Iterable[Destination], text: str) -> tuple[list[Destination], bool]:
    """Return the destinations with all words, those with all in their title first, and whether more have them.

    Of each kind there are at most a few; an action of the run counts as one kind.
    """
    words = text.casefold().split()
    hits = [one for one in every if _has_all(words, f"{one.kind} {one.title} {one.note} {one.searched}")]
    hits.sort(key=lambda one: not _has_all(words, one.title))
    counts: dict[str, int] = {}
    listed = []
    for one in hits:
        counts[one.kind] = counts.get(one.kind, 0) + 1
        if one.kind == "action" or counts[one.kind] <= _MOST:
            listed.append(one)
    return listed, len(listed) < len(hits)


def _has_all(words: Iterable[str], text: str) -> bool:
    return all(word in text.casefold() for word in words)
