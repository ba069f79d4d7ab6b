"""The pages and where they stand: each reads the store, and none changes it."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from evalmark.errors import EvalmarkError, StoreError
from evalmark.store import Store
from evalmark.values import Run, plain

from . import case_page, run_page, runs_page
from .asking import cases_asked, runs_asked
from .drawing import environment, page
from .figures import Figures
from .guard import Door, Guarded
from .paths import name_in
from .shelf import Shelf

_STATIC = Path(__file__).parent / "static"
_KINDS = {".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


PATIENCE = 0.3
"""Seconds that a page waits for the figures of a run, before it is shown without them."""


def pages(store: Store, door: Door, patience: float = PATIENCE) -> Guarded:
    """The viewer of a store as an ASGI application, behind its door; `patience`: seconds to wait for figures."""
    return Guarded(app=site(store, patience), door=door)


def site(store: Store, patience: float = PATIENCE) -> Starlette:
    """The same without the door."""
    desk = _Desk(Shelf(store, Figures(patience)))
    static = [
        Route(f"/static/{file.name}", partial(_static, file.read_bytes(), _KINDS[file.suffix]))
        for file in sorted(_STATIC.iterdir())
        if file.suffix in _KINDS
    ]
    routes = [
        Route("/", desk.runs),
        Route("/runs/{run}", desk.run),
        Route("/runs/{run}/results/{number:int}", desk.case),
        Route("/runs/{run}/results/{number:int}/whole.json", desk.download),
        *static,
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: desk.missing, StoreError: desk.broken})


class _Desk:
    """Answers requests: reads what an address asks for, has it looked up, and draws the page."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._templates = environment()

    def runs(self, request: Request) -> Response:
        return self._page("runs.html", runs_page.values(self._shelf, runs_asked(request.query_params)))

    def run(self, request: Request) -> Response:
        run = self._found(request)
        return self._page("run.html", run_page.values(self._shelf, run, _cases_asked(request, run)))

    def case(self, request: Request) -> Response:
        run = self._found(request)
        place = request.query_params.get("at", "")
        at = int(place) if place.isascii() and place.isdigit() and len(place) < 10 else None
        asked = _cases_asked(request, run)
        with self._shelf.figures.give_way():
            values = case_page.values(self._shelf, run, request.path_params["number"], asked, at)
        if values is None:
            raise HTTPException(404, f"{run.id} has no such result, or no longer.")
        return self._page("case.html", values)

    def download(self, request: Request) -> Response:
        run, number = self._found(request), request.path_params["number"]
        result = self._shelf.browsing(run).result(number)
        if result is None:
            raise HTTPException(404, f"{run.id} has no such result, or no longer.")
        text = json.dumps(plain(result), ensure_ascii=True, indent=2)
        headers = {"content-disposition": f'attachment; filename="result-{number}.json"'}
        return Response(text, media_type="application/json", headers=headers)

    def missing(self, request: Request, error: Exception) -> Response:
        """Of an address that leads nowhere."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        said = str(error.detail) if isinstance(error, HTTPException) else str(error)
        if said == "Not Found":
            said = "There is no page with this address."
        return self._page("fault.html", {"title": "Not found", "said": said}, status)

    def broken(self, request: Request, error: Exception) -> Response:
        """Of a store that cannot be read."""
        return self._page("fault.html", {"title": "The store cannot be read", "said": str(error)}, 500)

    def _found(self, request: Request) -> Run:
        try:
            return self._shelf.store.run(name_in(request.path_params["run"]))
        except EvalmarkError as error:
            raise HTTPException(404, str(error)) from error

    def _page(self, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
        return HTMLResponse(page(self._templates, template, values), status)


def _cases_asked(request: Request, run: Run) -> Any:
    query = request.query_params
    return cases_asked(query, query.getlist("verdict"), [metric.name for metric in run.metrics])


def _static(body: bytes, kind: str, request: Request) -> Response:
    return Response(body, media_type=kind)
