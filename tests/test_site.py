"""The documentation site: every link leads somewhere, nothing is loaded from elsewhere, and the search works from a file."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT
from .test_docs import DOCS

pytest.importorskip("zensical", reason="zensical is not installed: pip install 'evalmark[docs]'")
pytest.importorskip(
    "mkdocstrings_handlers.python", reason="mkdocstrings is not installed: pip install 'evalmark[docs]'"
)
pytestmark = pytest.mark.slow
LOADS = re.compile(
    r"<(?:script|link|img|iframe|source|video|audio)\b[^>]*?\b(?:src|href|srcset)=[\"']?(https?:)?//[^>]*>"
)
LOADED_BY_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    done = subprocess.run([sys.executable, DOCS / "site" / "build.py", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout
    return folder / "site"


def test_every_page_is_on_the_site(site):
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    places = [page.relative_to(ROOT).with_suffix(".html") for page in pages]
    names = [place.with_name("index.html") if place.stem == "README" else place for place in places]
    assert [name.as_posix() for name in names if not (site / name).is_file()] == []


def test_the_site_loads_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    assert [(page.name, found[0]) for page in pages if (found := LOADS.search(page.read_text(encoding="utf-8")))] == []
    styles = [found[0] for style in site.rglob("*.css") if (found := LOADED_BY_STYLES.search(style.read_text("utf-8")))]
    assert styles == []


def test_a_load_from_elsewhere_is_noticed():
    assert LOADS.search('<script src="https://unpkg.com/shim" type="text/javascript">')
    assert LOADS.search('<link rel="stylesheet" href="//fonts.example/a.css">')
    assert not LOADS.search('<a href="https://docs.ray.io">')
    assert not LOADS.search('<script src="../assets/a.js"></script> <a href="https://docs.ray.io">')


def test_the_commands_stand_there_with_their_flags(site):
    page = (site / "docs/reference/commands.html").read_text(encoding="utf-8")
    for heading in ("evalmark-run", "evalmark-compare", "evalmark-cache-list"):
        assert f'<h2 id="{heading}">' in page
    assert "<code>--until-decided</code>" in page
    assert "Stop as soon as the gate is decided; cases run in random order." in page


def test_the_python_api_stands_there_with_arguments_and_examples(site):
    page = (site / "docs/reference/api/evalmark.scorers.html").read_text(encoding="utf-8")
    assert 'id="evalmark.scoring.builtin.checks.Equals"' in page
    assert "Parameters:" in page
    assert "language-pycon" in page
    assert "<blockquote>" not in page, "a doctest is read as a quotation"


def test_the_search_finds_a_page_without_a_server(site):
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from .reports.viewer.chromium import CHROMIUM

    with sync_api.sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM) as browser:
        page = browser.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / "docs/index.html").as_uri())
        page.keyboard.press("Control+k")
        page.keyboard.type("McNemar")
        sync_api.expect(page.locator("a[href*='statistics.html']").last).to_be_visible()
        assert [url for url in requests if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
