"""The viewer as an ASGI application: all pages, static files and error pages."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalmark.core.errors import EvalmarkError, NotFoundError, StoreBusyError, StoreError
from evalmark.core.text import one_line
from evalmark.reports.viewer.auth.guard import AccessPolicy, GuardedApp
from evalmark.reports.viewer.urls.label_queue_query import QUEUE
from evalmark.reports.viewer.urls.paths import decode_name, run_path
from evalmark.storage.store.store import Store

from . import (
    case_page,
    charts_page,
    compare_page,
    export_page,
    go_page,
    grid_page,
    label_page,
    labels,
    live_updates,
    run_page,
    runs_page,
    session_page,
    sessions_page,
    trend_page,
)
from .background import BackgroundFigures
from .early_head import send_head_first
from .page_context import PageContext
from .store_view import StoreView

RUN = "/runs/{run}"
FOLLOWED: Mapping[str, Callable[[PageContext, Request], Response]] = {"/": runs_page.show, RUN: run_page.show}
"""Pages that a script follows while a run goes on."""
PAGES: Mapping[str, Callable[[PageContext, Request], Response]] = {
    "/runs/{run}/charts": charts_page.show,
    "/runs/{run}/rows/{number}": run_page.show_row,
    "/runs/{run}/results/{number}": case_page.show,
    "/runs/{run}/results/{number}/whole.json": case_page.download,
    "/runs/{run}/results/{number}/{part}.txt": case_page.download_text,
    "/runs/{run}/export/{file}": export_page.show,
    "/compare": compare_page.show,
    "/grid": grid_page.show,
    "/trends": trend_page.show,
    "/go": go_page.show,
    "/sessions": sessions_page.show,
    "/sessions/{session}": session_page.show,
    "/sessions/{session}/whole.json": session_page.download,
    "/label": label_page.choose,
    QUEUE: label_page.show,
}
FORMS: Mapping[str, Callable[[PageContext, Request], Response]] = {
    "/labels": labels.save,
    "/label/start": label_page.start,
    "/stop": live_updates.stop,
}

PATIENCE = 0.3
"""Seconds that a page waits for the figures of a run."""


def viewer_app(
    store: Store,
    policy: AccessPolicy,
    patience: float = PATIENCE,
    author: str = "",
    flags: str = "",
    editor: str = "",
) -> GuardedApp:
    """Make the viewer of a store as an ASGI application, guarded by `policy`.

    Args:
        store: the store to show.
        policy: the accepted hosts and secrets.
        patience: the seconds that a page waits for figures.
        author: the default name of the annotator.
        flags: the flags that a command needs for this store, with a leading space.
        editor: the form of addresses that open a file in an editor; empty: no such links.
    """
    context = PageContext(StoreView(store, BackgroundFigures(patience), flags), policy.key, author, editor)
    changes = live_updates.ChangeSignal(context.view)
    return GuardedApp(app=starlette_app(context, changes), policy=policy, release=changes.stop)


def starlette_app(context: PageContext, changes: live_updates.ChangeSignal | None = None) -> Starlette:
    """Make the application without access control."""
    changes = changes or live_updates.ChangeSignal(context.view)
    routes = [Route(path, partial(page, context)) for path, page in PAGES.items()]
    followed = {path: partial(live_updates.follow, partial(page, context), changes) for path, page in FOLLOWED.items()}
    opened = partial(send_head_first, context.head, context.run, followed.pop(RUN), partial(_fault_page, context))
    routes += [Route(path, page) for path, page in [*followed.items(), (RUN, opened)]]
    routes += [Route(path, partial(_send, form, context), methods=["POST"]) for path, form in FORMS.items()]
    faults = {kind: partial(tell, context) for kind, tell in _ERROR_PAGES.items()}
    routes += [Route(path, file.respond) for path, file in context.static.items()]
    return Starlette(routes=routes, exception_handlers=faults)


def _send(form: Callable[[PageContext, Request], Response], context: PageContext, request: Request) -> Response:
    """Handle a form, unless what it saves would be lost."""
    if context.view.is_replaced:
        message = "The file of the store was deleted or replaced since the viewer was started: start the viewer again. Nothing was saved."
        raise HTTPException(409, message)
    return form(context, request)


def _missing(context: PageContext, request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    message = str(error.detail) if isinstance(error, HTTPException) else context.view.sentence_of(error)
    if message == "Not Found":
        message = "There is no page with this address."
    title = "Not found" if status == 404 else "Not done"
    return _error_page(context, request, title, message, status)


def _error_page(context: PageContext, request: Request, title: str, message: str, status: int) -> Response:
    """Show a message, with links to the pages around the one that was requested."""
    links = [*_around(context, request.url.path)] if status < 500 else []
    values = {"title": title, "message": message, "links": [*links, ("/", "All runs")]}
    return context.page(request, "error.html", values, status)


def _around(context: PageContext, path: str) -> Iterator[tuple[str, str]]:
    """Yield the address and name of each page that a path lies below."""
    match path.strip("/").split("/"):
        case ["runs", name, _, *_]:
            with suppress(EvalmarkError):
                run = context.view.store.run(decode_name(name))
                yield f"{run_path(run.id)}#cases", f"Cases of {one_line(run.name, 60) or run.id}"
        case ["runs", _]:
            with suppress(EvalmarkError):  # the header of the newest run may be damaged
                for run in context.view.store.runs(1):
                    yield run_path(run.id), f"The newest run: {one_line(run.name, 60) or run.id}"
        case ["compare"]:
            yield "/compare", "Choose the runs to compare"
        case ["sessions", _, *_]:
            yield "/sessions", "All sessions"
        case ["label", *_]:
            yield "/label", "Choose what to label"


def _broken(context: PageContext, request: Request, error: Exception) -> Response:
    """Error page of a store that is damaged, from a newer evalmark, or busy."""
    status = 503 if isinstance(error, StoreBusyError) else 500
    return _error_page(context, request, "The store cannot be read", str(error), status)


def _failed(context: PageContext, request: Request, error: Exception) -> Response:
    """Error page of an internal error; details are printed on the terminal only."""
    message = "evalmark failed to make this page. The error is printed where the viewer was started."
    return _error_page(context, request, "Failed", message, 500)


_ERROR_PAGES: Mapping[type[Exception], Callable[[PageContext, Request, Exception], Response]] = {
    HTTPException: _missing,
    NotFoundError: _missing,
    StoreError: _broken,
    Exception: _failed,
}


def _fault_page(context: PageContext, request: Request, error: Exception) -> Response:
    """Make the page of an error that is raised once the head is sent."""
    page = next(_ERROR_PAGES[kind] for kind in type(error).__mro__ if kind in _ERROR_PAGES)
    return page(context, request, error)
