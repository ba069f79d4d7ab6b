"""A real browser for tests, and a server that it can ask; a file that imports this one is skipped where either is absent."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn

from evalmark.reports.viewer import app
from evalmark.reports.viewer.auth.server import Listener, bind
from evalmark.store import Store

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
SHELL = shutil.which("chromium-headless-shell")
"""The same engine without windows, menus and their own pages, which are work too."""
CHROMIUM = SHELL or shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("there is no chromium; on Debian: apt-get install chromium-headless-shell", allow_module_level=True)

WIDTHS = (3840, 1280, 768, 320)
"""Of windows, in pixels of CSS: a large screen, a small one, a tablet and what WCAG 1.4.10 asks for."""
# The last switch of this name counts: what Playwright turns off and can matter here, and pages of the browser's own.
OFF = "AcceptCHFrame,HttpsUpgrades,OptimizationHints,PaintHolding,Translate,PreloadTopChromeWebUI,WebUIOmniboxPopup"
QUIET = ("--no-sandbox", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")


@contextmanager
def served(store: Store, author: str = "") -> Iterator[Listener]:
    """The pages of a store, behind a real port of this machine; they wait for figures as long as it takes."""
    made = bind(0)
    pages = app.viewer_app(store, made.policy, patience=60, author=author)
    server = uvicorn.Server(uvicorn.Config(pages, http="h11", ws="none", lifespan="off", log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": list(made.sockets)}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def chromium() -> Iterator:
    """A browser; Playwright holds a loop in this thread while it is open, so write to stores before."""
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=CHROMIUM, args=[*QUIET, *([] if SHELL else [f"--disable-features={OFF}"])]
        )
        yield opened
        opened.close()


def too_wide(page) -> list[int]:
    """The windows that the page which is loaded is wider than."""
    page.wait_for_load_state()  # with its style sheet
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(width)
    return found
