"""What every page needs to answer: the store, the templates, and who sits before the screen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from evalmark.core.values.run import Run
from evalmark.inputs.secrets.known_secrets import mask_known_secrets
from evalmark.reports.html.jinja import render_page, template_environment
from evalmark.reports.viewer.auth.guard import cookie_values
from evalmark.reports.viewer.urls.paths import case_path, decode_name, download_path, encode_name, label_path, run_path
from evalmark.reports.viewer.urls.queries import parse_count, query_string

from .store_view import StoreView

_FOLDER = Path(__file__).parent / "templates"
_YEAR = 365 * 24 * 3600


class PageContext:
    """Answers requests with pages; each page has a file of its own with its routes."""

    def __init__(self, view: StoreView, key: str, author: str) -> None:
        self.view = view
        self._author = author
        """Who labels where nobody says otherwise; empty where it is not known."""
        offered = {
            "run_path": run_path,
            "case_path": case_path,
            "download_path": download_path,
            "label_path": label_path,
            "query_string": query_string,
            "key": key,
            "can_label": view.store.is_writable,
        }
        self._templates = template_environment(_FOLDER, offered)

    def page(self, request: Request, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
        """A page of a template; `address` is where it stands and `author` who looks at it, so far as is known."""
        query = f"?{request.url.query}" if request.url.query else ""
        beside = {"address": request.url.path + query, "author": self.author(request)}
        return HTMLResponse(mask_known_secrets(render_page(self._templates, template, {**beside, **values})), status)

    def prepare(self) -> None:
        """Read the templates of all pages, which takes longer than a page itself."""
        for name in self._templates.list_templates(["html"]):
            self._templates.get_template(name)

    def run(self, request: Request) -> Run:
        """The run that an address names, without its results being read.

        Raises:
            NotFoundError: there is none, or no longer.
        """
        return self.view.store.run(decode_name(request.path_params["run"]))

    def number(self, request: Request) -> int:
        """The number of a result that an address names.

        Raises:
            HTTPException: it is no number that a result could have.
        """
        number = parse_count(request.path_params["number"])
        if number is None:
            raise HTTPException(404, "There is no page with this address.")
        return number

    def author(self, request: Request) -> str:
        """Who labels from this browser: the name that was given last, else the one that the viewer was started with."""
        said = cookie_values(request.headers.get("cookie", ""), _cookie(request))
        return (decode_name(said[-1]) if said else "") or self._author

    def remember(self, request: Request, response: Response, author: str) -> None:
        """Have this browser keep the name of who labels."""
        response.set_cookie(_cookie(request), encode_name(author), max_age=_YEAR, httponly=True, samesite="strict")


def _cookie(request: Request) -> str:
    """Browsers keep cookies by host and not by port; raters at two viewers of a machine have names of their own."""
    return f"evalmark-by-{request.url.port or 80}"
