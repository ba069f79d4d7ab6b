"""The Chromium that benchmarks look at pages in, and how soon it paints them."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
VARIABLE = "EVALMARK_CHROMIUM"
"""The environment variable that names another Chromium."""
PAINT = """() => new Promise(done => setTimeout(() => done([
    performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    performance.getEntriesByType('navigation')[0].loadEventEnd]), 500))"""


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a Chromium without windows; None if Playwright or a Chromium is missing."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  the benchmarks work without it
    except ImportError:
        yield None
        return
    with sync_playwright() as driver:
        known = [os.environ.get(VARIABLE), *map(shutil.which, NAMES), driver.chromium.executable_path]
        path = next((one for one in known if one and Path(one).exists()), None)
        if path is None:
            yield None
            return
        opened = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


def first_paint(page: Any) -> tuple[float, float]:
    """Milliseconds from the request of a loaded page to its first contentful paint, and until all of it was loaded."""
    first, loaded = page.evaluate(PAINT)
    return first, loaded
