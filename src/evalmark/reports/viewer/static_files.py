"""Style sheet, script and images of the viewer, at addresses that change with their content, so that browsers keep them."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from evalmark.reports.html.assets import compared_cases_style, script, stylesheet, timeline_style
from evalmark.reports.viewer.auth.guard import LASTING

_FOLDER = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file that all pages share."""

    name: str
    body: bytes
    media_type: str

    @property
    def version(self) -> str:
        """The start of the SHA-256 of the content."""
        return hashlib.sha256(self.body).hexdigest()[:16]

    def respond(self, request: Request) -> Response:
        """Answer with the content, to be kept by the browser if the address names this version."""
        lasting = {LASTING[0].decode(): LASTING[1].decode()} if request.url.query == self.version else {}
        return Response(self.body, media_type=self.media_type, headers=lasting)


def static_files() -> Mapping[str, StaticFile]:
    """Return the files by path: one style sheet, one script, and images."""
    return {f"/static/{file.name}": file for file in _files()}


def static_addresses(files: Mapping[str, StaticFile]) -> Mapping[str, str]:
    """Return the address of each file, with its version, by name."""
    return {file.name: f"{path}?{file.version}" for path, file in files.items()}


def _files() -> Iterator[StaticFile]:
    style = "".join([stylesheet(interactive=True), compared_cases_style(), timeline_style(), *_texts(".css")])
    yield StaticFile("style.css", style.encode(), "text/css; charset=utf-8")
    yield StaticFile("script.js", script(_texts(".js")).encode(), "text/javascript; charset=utf-8")
    yield from (StaticFile(file.name, file.read_bytes(), "image/svg+xml") for file in sorted(_FOLDER.glob("*.svg")))


def _texts(kind: str) -> list[str]:
    return [file.read_text(encoding="utf-8") for file in sorted(_FOLDER.glob(f"*{kind}"))]
