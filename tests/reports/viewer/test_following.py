"""A run under way is followed in a real browser: what is new comes by itself, and nobody loses what they were about."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from evalmark import Run
from evalmark.reports.viewer.auth.server import Listener
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import Store, open_store

from .chromium import chromium, playwright, served
from .conftest import a_run, keep, result

pytestmark = pytest.mark.slow

expect = playwright.expect
RUN = "20261121-101500-3f9a"
SOON = 20_000
"""Milliseconds within which something new has to be there."""


@dataclass
class Followed:
    """A run that another thread writes, while pages show it."""

    store: Store
    run: Run
    made: Listener
    writer: ThreadPoolExecutor

    def write(self, *numbers: int) -> None:
        results = [result(number) for number in numbers]
        # Playwright holds a loop in the thread of the test.
        self.writer.submit(lambda: asyncio.run(self.store.sink(self.run.id).write(results))).result(20)

    def end(self) -> None:
        done = replace(self.run, status="complete", finished="2026-11-21T10:16:00Z")
        self.writer.submit(self.store.finish, done).result(20)

    def page(self, path: str = "") -> str:
        return self.made.address_of(path or run_path(self.run.id))


@pytest.fixture
def followed(tmp_path) -> Iterator[Followed]:
    with open_store(tmp_path / "evalmark.db") as store, ThreadPoolExecutor(1) as writer:
        run = writer.submit(keep, store, a_run(RUN), [], ends=False).result(20)
        with served(store, author="ann") as made:
            yield Followed(store, run, made, writer)


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(followed, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 700})
    made = context.new_page()
    made.set_default_timeout(SOON)
    made.clock.install()
    made.faults = []
    made.asked = []
    made.unanswered = set()
    made.on("pageerror", lambda error: made.faults.append(f"{error}"))
    made.on("console", lambda message: made.faults.append(message.text))
    made.on("request", lambda request: made.asked.append(request))
    made.on("request", lambda request: made.unanswered.add(request))
    made.on("requestfinished", lambda request: made.unanswered.discard(request))
    made.on("requestfailed", lambda request: made.unanswered.discard(request))
    yield made
    assert made.faults == []
    context.close()


def leap(page) -> None:
    """A minute goes by at once; what the page then asks for is answered before the next one, or it would give it up."""
    page.clock.fast_forward(61_000)
    page.wait_for_timeout(50)
    for _ in range(SOON // 10):
        if not page.unanswered:
            return
        page.wait_for_timeout(10)
    raise AssertionError(f"no answer to {[request.url for request in page.unanswered]}")


def comes(page, selector: str) -> None:
    """Something is there once the server has sent it; pauses of the page between two requests are leapt over."""
    for _ in range(SOON // 50):
        if page.locator(selector).count():
            return
        if not page.unanswered:
            page.clock.fast_forward(61_000)
        page.wait_for_timeout(50)
    raise AssertionError(f"{selector} has not come:\n{page.inner_text('main')}")


def pass_by(page) -> None:
    """Let time go by in which a page could look."""
    for _ in range(3):
        leap(page)


def watched(page) -> list:
    """Requests that a script has made."""
    return [request for request in page.asked if request.resource_type == "fetch"]


def test_a_run_is_followed_from_its_first_result_to_its_end(followed, page):
    page.goto(followed.page())
    assert "No case has finished yet" in page.inner_text("main")
    page.fill("input[name=q]", "sq")
    page.focus("input[name=q]")
    followed.write(1)
    comes(page, "text=1 trial so far")
    comes(page, "tr[data-id] >> text=case-001")
    page.click("details.notes >> nth=0 >> summary")
    page.focus("input[name=q]")
    page.keyboard.type("uares")
    page.wait_for_url("**q=squares*")
    comes(page, "tr[data-id] >> text=case-001")
    before = page.query_selector("tr[data-id] >> text=case-001")
    followed.write(*range(2, 9), 0)
    comes(page, "text=9 trials so far")
    assert page.locator("table.cases tbody tr").count() == 9
    assert page.inner_text("table.cases tbody tr >> nth=0 >> a.name") == "What is 0 times 0?"
    assert before.is_visible(), "the row that was there already is the same one"
    followed.end()
    comes(page, "text=The run has ended.")
    comes(page, ".outcome")
    assert page.locator(".badge.live").count() == 0
    assert page.evaluate("document.activeElement.name") == "q"
    assert page.input_value("input[name=q]") == "squares"
    assert page.get_attribute("details.notes >> nth=0", "open") is not None
    count = len(watched(page))
    pass_by(page)
    assert len(watched(page)) == count, "a run at its end is left alone"


def test_looks_are_one_at_a_time_and_a_second_apart(followed, browser):
    page = browser.new_context().new_page()  # with a clock as everybody's
    page.goto(followed.page())
    for number in range(4):
        followed.write(number)
        page.wait_for_selector(f"text={number + 1} trial")
    moments = page.evaluate(
        """performance.getEntriesByType("resource").filter(one => one.initiatorType === "fetch")
            .map(one => [one.startTime, one.responseEnd])"""
    )
    assert len(moments) >= 4
    for (_, ended), (started, _) in itertools.pairwise(moments):
        assert started >= ended
    starts = [started for started, _ in moments]
    assert min(later - sooner for sooner, later in itertools.pairwise(starts)) >= 995


def test_a_label_that_is_being_written_and_the_place_in_a_row_stay(followed, page):
    followed.write(*range(1, 8))
    page.goto(followed.page())
    page.focus("tr[data-id] >> nth=3 >> .thumb.up")
    page.evaluate("document.activeElement.closest('.label').dataset.mine = 'yes'")
    page.evaluate("window.scrollTo(0, 500)")
    held = page.evaluate("document.activeElement.closest('tr').dataset.id")
    followed.write(0, 8, 10)
    comes(page, "text=10 trials so far")
    assert page.evaluate("document.activeElement.className") == "thumb up"
    assert page.evaluate("document.activeElement.closest('tr').dataset.id") == held
    assert page.evaluate("document.activeElement.closest('.label').dataset.mine") == "yes"
    assert page.evaluate("window.scrollY") >= 400
    page.keyboard.press("Enter")
    comes(page, f"tr[data-id='{held}'] .labelled")
    assert followed.store.sessions.all_labels()[0].liked is True
    followed.write(11)
    comes(page, "text=11 trials so far")
    assert page.locator(f"tr[data-id='{held}'] .labelled").count() == 1


def test_a_row_that_is_in_use_stays_when_it_would_leave_the_page(followed, page):
    followed.write(*range(10, 35))
    page.goto(f"{followed.page()}&size=25&sort=position")
    page.focus("tr[data-id] >> nth=24 >> a.name")
    last = page.inner_text("tr[data-id] >> nth=24 >> a.name")
    followed.write(*range(5))
    comes(page, "text=30 trials so far")
    assert page.evaluate("document.activeElement.innerText") == last
    page.focus("input[name=q]")
    comes(page, "tr[data-id]:nth-child(25):last-child >> text=case-029")


def test_the_list_is_followed_while_a_run_is_under_way(followed, page):
    page.goto(followed.page("/"))
    page.fill("input[name=text]", "squares")
    followed.write(1, 3)
    comes(page, "tr[data-id] >> text=50.0 %")
    followed.end()
    comes(page, "text=All runs have ended.")
    assert page.input_value("input[name=text]") == "squares"


def test_a_tab_that_nobody_sees_asks_for_nothing(followed, page):
    page.goto(followed.page())
    page.evaluate(
        """() => {
            Object.defineProperty(document, "hidden", { get: () => window.away === true, configurable: true });
            window.away = true;
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    count = len(watched(page))
    followed.write(1)
    pass_by(page)
    assert len(watched(page)) == count
    page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
    comes(page, "text=1 trial so far")


def test_a_viewer_that_is_gone_is_said_in_one_line_and_followed_again_once_it_is_back(followed, page):
    page.goto(followed.page())
    page.route("**/runs/**", lambda route: route.abort())
    said = page.locator("main > [role=status]")
    comes(page, "text=The viewer does not respond.")
    page.faults.clear()  # the browser tells of a request that failed
    page.unroute("**/runs/**")
    followed.write(1)
    comes(page, "text=1 trial so far")
    assert said.inner_text() == ""
    page.faults.clear()


def test_a_run_that_is_deleted_and_a_viewer_with_another_token_end_it(followed, page):
    page.goto(followed.page())
    page.route("**/runs/**", lambda route: route.fulfill(status=403, body="Open the address again."))
    comes(page, "text=Open the address again.")
    count = len(watched(page))
    pass_by(page)
    assert len(watched(page)) == count
    page.faults.clear()


def test_settled_runs_are_looked_at_in_peace(followed, page):
    followed.write(1)
    followed.end()
    for path in ("/", run_path(RUN)):
        page.goto(followed.page(path))
        pass_by(page)
    assert watched(page) == []


def test_where_the_page_updates_itself_there_is_no_link_for_it(followed, page):
    for path in ("/", run_path(RUN)):
        page.goto(followed.page(path))
        expect(page.locator(".refresh")).to_be_hidden()
        expect(page.locator(".progress")).to_be_visible()


def test_without_a_script_the_link_looks_again(followed, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(followed.page())
    followed.write(1)
    page.click("text=Refresh")
    expect(page.locator("main")).to_contain_text("case-001")
    context.close()


def test_a_list_that_was_not_searched_to_its_end_gets_the_rest_by_itself(tmp_path, browser, monkeypatch):
    searches = threading.Event()
    search = Store.search
    monkeypatch.setattr(Store, "search", lambda *given: searches.wait(20) and search(*given))
    with open_store(tmp_path / "evalmark.db") as store, ThreadPoolExecutor(1) as writer:
        writer.submit(keep, store, a_run(RUN), [result(number) for number in range(5_200)]).result(60)
        with served(store) as made:
            page = browser.new_page()
            page.goto(made.address_of(run_path(RUN)))
            asked = []
            page.locator("input[type=search][name=q]").press_sequentially("case-0")
            expect(page.locator("[data-live=cases]")).to_contain_text("the total is being counted")
            assert not page.locator("[data-live=cases] >> text=Reload").is_visible()
            page.on("request", lambda request: asked.append(request.url))
            page.wait_for_timeout(8_000)
            assert len(asked) <= 2  # one until the figures are there, and one that waits for the search
            searches.set()
            expect(page.locator("[data-live=cases]")).to_contain_text("cases found", timeout=SOON)
            expect(page.locator("input[type=search][name=q]")).to_be_focused()
            page.wait_for_timeout(500)
            asked.clear()
            page.wait_for_timeout(3_000)
            assert asked == []
            page.close()
