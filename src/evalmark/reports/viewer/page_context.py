"""What every page needs to answer: the store, the templates, and who sits before the screen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from evalmark.core.values.run import Run
from evalmark.inputs.documents.known import without_known
from evalmark.reports.html.jinja import environment, page
from evalmark.reports.viewer.auth.guard import cookies
from evalmark.reports.viewer.urls.paths import case_path, download_path, label_path, name_in, named, run_path
from evalmark.reports.viewer.urls.queries import counted, written

from .store_view import Shelf

_FOLDER = Path(__file__).parent / "templates"
_YEAR = 365 * 24 * 3600


class Desk:
    """Answers requests with pages; each page has a file of its own with its routes."""

    def __init__(self, shelf: Shelf, key: str, author: str) -> None:
        self.shelf = shelf
        self._author = author
        """Who labels where nobody says otherwise; empty where it is not known."""
        offered = {
            "run_path": run_path,
            "case_path": case_path,
            "download_path": download_path,
            "label_path": label_path,
            "written": written,
            "key": key,
            "can_label": shelf.store.is_writable,
        }
        self._templates = environment(_FOLDER, offered)

    def page(self, request: Request, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
        """A page of a template; `address` is where it stands and `author` who looks at it, so far as is known."""
        query = f"?{request.url.query}" if request.url.query else ""
        beside = {"address": request.url.path + query, "author": self.author(request)}
        return HTMLResponse(without_known(page(self._templates, template, {**beside, **values})), status)

    def prepare(self) -> None:
        """Read the templates of all pages, which takes longer than a page itself."""
        for name in self._templates.list_templates(["html"]):
            self._templates.get_template(name)

    def run(self, request: Request) -> Run:
        """The run that an address names, without its results being read.

        Raises:
            NotFoundError: there is none, or no longer.
        """
        return self.shelf.store.run(name_in(request.path_params["run"]))

    def number(self, request: Request) -> int:
        """The number of a result that an address names.

        Raises:
            HTTPException: it is no number that a result could have.
        """
        number = counted(request.path_params["number"])
        if number is None:
            raise HTTPException(404, "There is no page with this address.")
        return number

    def author(self, request: Request) -> str:
        """Who labels from this browser: the name that was given last, else the one that the viewer was started with."""
        said = cookies(request.headers.get("cookie", ""), _cookie(request))
        return (name_in(said[-1]) if said else "") or self._author

    def remember(self, request: Request, response: Response, author: str) -> None:
        """Have this browser keep the name of who labels."""
        response.set_cookie(_cookie(request), named(author), max_age=_YEAR, httponly=True, samesite="strict")


def _cookie(request: Request) -> str:
    """Browsers keep cookies by host and not by port; raters at two viewers of a machine have names of their own."""
    return f"evalmark-by-{request.url.port or 80}"
