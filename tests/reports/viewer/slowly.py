"""A plugin of pytest that slows pages down, so that a test which does not wait for what it looks at fails each time.

Events that a browser sends a moment later come even later, its processor is slow, and so is the network of a page:

    python -m pytest -p tests.reports.viewer.slowly tests/reports/viewer tests/reports/files/test_page_browser.py tests/cli/test_report_page.py
"""

import os

import pytest

PROCESSOR = int(os.environ.get("SLOW_PROCESSOR", "6"))
"""How many times slower the processor is."""
EVENTS = int(os.environ.get("SLOW_EVENTS", "150"))
"""Milliseconds that events come later."""
NETWORK = int(os.environ.get("SLOW_NETWORK", "120"))
"""Milliseconds that an answer comes later; 60 kB a second are received then. 0: as it is."""
LATER = """(() => {
    const late = ["toggle", "hashchange", "popstate", "storage", "close", "scroll", "resize"];
    const add = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function (kind, listener, options) {
        if (!late.includes(kind) || typeof listener !== "function") {
            return add.call(this, kind, listener, options);
        }
        return add.call(this, kind, (event) => {
            const same = Object.create(event, { target: { value: event.target }, currentTarget: { value: this } });
            setTimeout(() => listener.call(this, same), %d);
        }, options);
    };
})()"""


@pytest.fixture(autouse=True)
def _slow_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page that a test opens in a context of its own is a slow one."""
    playwright = pytest.importorskip("playwright.sync_api")
    opened = playwright.BrowserContext.new_page

    def new_page(context):
        context.add_init_script(LATER % EVENTS)
        page = opened(context)
        session = context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": PROCESSOR})
        if NETWORK:
            pace = {"downloadThroughput": 60_000, "uploadThroughput": 60_000}
            session.send("Network.enable")
            session.send("Network.emulateNetworkConditions", {"offline": False, "latency": NETWORK, **pace})
        return page

    monkeypatch.setattr(playwright.BrowserContext, "new_page", new_page)
