"""What every page needs: the store, the templates and the current user's name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from evalmark.core.errors import NotFoundError
from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.inputs.secrets.known_secrets import mask_known_secrets
from evalmark.reports.html.jinja import render_page, template_environment
from evalmark.reports.viewer.auth.guard import cookie_values
from evalmark.reports.viewer.urls.parameters import parse_count, query_string
from evalmark.reports.viewer.urls.paths import (
    case_path,
    decode_name,
    download_path,
    editor_address,
    encode_name,
    encode_query_name,
    grid_path,
    label_path,
    run_path,
    text_path,
)
from evalmark.reports.viewer.urls.search_terms import quoted
from evalmark.stats.comparison.baseline_choice import suite_of

from .grid import landing_path
from .listed_metrics import ListedMetrics
from .run_changes import RunChanges
from .static_files import static_addresses, static_files
from .store_view import StoreView

_FOLDER = Path(__file__).parent / "templates"
_YEAR = 365 * 24 * 3600


class PageContext:
    """Renders pages and reads the parameters that they share."""

    def __init__(self, view: StoreView, key: str, author: str, editor: str = "") -> None:
        self.view = view
        self.changes = RunChanges(view)
        self.metrics = ListedMetrics(view)
        self.static = static_files()
        self._author = author
        """Default name of the annotator; empty if unknown."""
        offered = {
            "run_path": run_path,
            "suite_of": suite_of,
            "grid_path": grid_path,
            "landing_path": landing_path,
            "case_path": case_path,
            "download_path": download_path,
            "text_path": text_path,
            "label_path": label_path,
            "encode_name": encode_name,
            "encode_query_name": encode_query_name,
            "query_string": query_string,
            "quoted_in_query": quoted,
            "key": key,
            "static": static_addresses(self.static),
            "editor_address": lambda place: editor_address(editor, place, Path.cwd()),
            "can_label": view.store.is_writable,
        }
        self._templates = template_environment(_FOLDER, offered)
        self.head = render_page(self._templates, "head.html", {})
        """The start of every page."""

    def page(self, request: Request, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
        """Render a template as a response, with the page's `address` and the `author`."""
        query = f"?{request.url.query}" if request.url.query else ""
        common = {"address": request.url.path + query, "author": self.author(request)}
        with self.view.figures.give_way():
            text = render_page(self._templates, template, {**common, **values})
        return HTMLResponse(mask_known_secrets(text), status)

    def run(self, request: Request) -> Run:
        """Return the run that an address names, without its results.

        Raises:
            HTTPException: the store does not have the run.
        """
        name = decode_name(request.path_params["run"])
        try:
            return self.view.store.run(name)
        except NotFoundError as error:
            sentence = (
                f"The store has no run {one_line(name, 60)}: it was deleted, or the address belongs to another store."
            )
            raise HTTPException(404, sentence) from error

    def number(self, request: Request) -> int:
        """Return the number of the result that an address names.

        Raises:
            HTTPException: the number is invalid.
        """
        number = parse_count(request.path_params["number"])
        if number is None:
            raise HTTPException(404, "There is no page with this address.")
        return number

    def author(self, request: Request) -> str:
        """Name of the annotator: the last one entered in this browser, else the default."""
        names = cookie_values(request.headers.get("cookie", ""), _cookie(request))
        return (decode_name(names[-1]) if names else "") or self._author

    def remember(self, request: Request, response: Response, author: str) -> None:
        """Store the annotator's name in a cookie."""
        response.set_cookie(_cookie(request), encode_name(author), max_age=_YEAR, httponly=True, samesite="strict")


def _cookie(request: Request) -> str:
    """Name the cookie by port, since browsers share cookies between ports."""
    return f"evalmark-by-{request.url.port or 80}"
