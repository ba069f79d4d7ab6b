"""The viewer as a person uses it: a real browser, looked at through Playwright."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import pytest

from evalmark import Case, Example, Output, Result, Score, ToolCall, Turn
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.html.escaping import visible
from evalmark.reports.text.numbers import DASH
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import open_store

from .chromium import chromium, playwright, served, too_wide
from .conftest import a_run, keep, keep_calls, result
from .payloads import PAYLOADS

pytestmark = pytest.mark.slow

expect = playwright.expect
RUN = "20261121-101500-3f9a"
TEXTS = ["\n".join(PAYLOADS[first : first + 4]) for first in range(0, len(PAYLOADS), 4)]
"""Payloads, several in a text: a page takes a browser a tenth of a second."""
DRAWN = (f"{run_path(RUN)}/charts", f"{run_path(RUN)}/charts?against=similarity", "/trends", "/trends?suite=*")
A_RUN = 18
"""Texts of one run."""


def attacked(payload: str, number: int) -> Result:
    """A result with the same text wherever a text can stand."""
    case = Case(
        id=f"{payload}{number}",
        input=payload,
        expected=payload,
        examples=(Example(value=payload, liked=False),),
        contexts=(payload,),
        history=(Turn(role=payload, content=payload),),
        tags=(payload,),
        metadata={payload: payload},
        place=payload,
    )
    detail = {
        payload: payload,
        "claims": [{"claim": payload, "supported": False, "reason": payload}],
        "calls": [payload],
    }
    scores = (
        Score(name=payload, raw=payload, value=0.5, passed=False, reason=payload, detail=detail),
        Score(name="other", status="unscored", reason=payload),
    )
    output = Output(
        value=payload,
        error=payload if number % 2 else None,
        tool_calls=(ToolCall(name=payload, arguments={payload: payload}, result=payload, error=payload),),
        transcript=(Turn(role=payload, content=payload), ToolCall(name=payload, result=payload)),
        metadata={payload: payload},
    )
    return Result(
        trial=Trial(case=case, dataset=payload, target=payload, position=number), output=output, scores=scores
    )


def attacked_run(store, first: int) -> str:
    """A run whose every text is made of payloads; gives its id."""
    texts = TEXTS[first : first + A_RUN]
    text = texts[0]
    run = a_run(
        f"{text}{first}",
        name=text,
        target=text,
        suite=text,
        revision=text,
        notes=tuple(texts),
        datasets=tuple(DatasetInfo(name=each, path=each) for each in texts),
        metrics=tuple(Metric(name=each, unit=each, judge=each) for each in texts),
    )
    keep(store, run, [attacked(each, number) for number, each in enumerate(texts)])
    return run.id


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """A server over a run of thirty cases, and over runs made of payloads."""
    with open_store(tmp_path_factory.mktemp("viewer") / "evalmark.db") as store:
        for first in range(0, len(TEXTS), A_RUN):
            attacked_run(store, first)
        keep(store, a_run(RUN), [result(number) for number in range(30)])
        keep_calls(store)
        with served(store) as made:
            yield made.address_of("/")


@dataclass
class Watched:
    """A page, and what it did that no page of ours does."""

    page: object
    faults: list[str]

    def visit(self, target: str) -> None:
        self.page.goto(target, wait_until="load")
        self.faults += self.page.evaluate(
            """() => [
                ...(window.hit ? ['a script ran'] : []),
                ...[...document.querySelectorAll('script:not([src="/static/script.js"]), script:not(:empty), iframe, object, embed, img, video, base, math, style')]
                    .map(found => `an element ${found.localName}`),
                ...[...document.querySelectorAll('*')].flatMap(found => [...found.attributes])
                    .filter(one => one.name.startsWith('on') || /^\\\\s*(javascript|data|vbscript):/i.test(one.value)
                        && ['href', 'src', 'action', 'formaction', 'xlink:href'].includes(one.name))
                    .map(one => `an attribute ${one.name}`),
            ]"""
        )


@pytest.fixture(scope="module")
def browser(address):
    with chromium() as opened:
        yield opened


@pytest.fixture
def watched(browser, address) -> Iterator[Watched]:
    """A page that was let in."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    found = Watched(page, [])
    origin = re.match(r"http://[^/]+", address)[0]
    page.on("dialog", lambda dialog: (found.faults.append("a dialog"), dialog.dismiss()))
    page.on("console", lambda message: found.faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: found.faults.append(f"error: {error}"))
    page.on("request", lambda asked: asked.url.startswith(origin) or found.faults.append(f"asked {asked.url}"))
    found.visit(address)
    yield found
    context.close()


def test_what_watches_for_scripts_sees_one(watched):
    watched.page.set_content("<img src=x onerror='window.hit = 1'>")
    watched.page.evaluate("window.hit = 1")
    watched.page.evaluate("console.error('seen')")
    assert "console: seen" in watched.faults
    watched.page.route(
        "**/made-up", lambda route: route.fulfill(body="<img src=x onerror=1>", content_type="text/html")
    )
    watched.visit(f"{watched.page.url.rstrip('/')}/made-up")
    assert {"an element img", "an attribute onerror"} <= {*watched.faults}


def test_two_hundred_payloads_in_every_field_run_nothing(watched, address):
    assert len({*PAYLOADS}) == len(PAYLOADS) >= 200
    origin = re.match(r"http://[^/]+", address)[0]
    seen = []
    for first in range(0, len(TEXTS), A_RUN):
        start = f"{origin}{run_path(f'{TEXTS[first]}{first}')}"
        watched.visit(start)
        links = watched.page.eval_on_selector_all("table.cases tbody a.name", "found => found.map(one => one.href)")
        for link in links:
            watched.visit(link)
            seen.append(watched.page.text_content("h1.whole bdi, section[aria-labelledby=asked] > div"))
        watched.visit(f"{start}?text=script&tag=%3Cb%3E&sort=score:{first}")
        watched.visit(f"{start}/charts?quality=%3Cimg+src=x%3E&against={quote(TEXTS[first], errors='replace')}")
        watched.visit(f"{origin}/trends?suite={quote(TEXTS[first], errors='replace')}&of=%3Cimg+src=x%3E")
    watched.visit(f"{origin}/trends?suite=*")
    watched.visit(f"{origin}/?text=%22%3E%3Cscript%3Ewindow.hit=1%3C/script%3E&status=%3Cimg+src=x%3E")
    assert len(seen) == len(TEXTS)
    assert sum(text == visible(payload) for text, payload in zip(seen, TEXTS, strict=True)) > 40  # the others are drawn
    assert watched.faults == []


def test_a_person_opens_a_run_filters_sorts_and_goes_from_case_to_case(watched, address):
    page = watched.page
    assert "token" not in page.url
    page.fill("input[name=text]", "squares app")
    page.keyboard.press("Enter")
    page.click("table.runs a.name >> nth=0")
    expect(page.locator("h1")).to_contain_text("squares")
    page.select_option("select[name=verdict]", "fail")
    page.wait_for_url("**verdict=fail**")
    page.click(".more-filters summary")
    page.fill("input[name=tag]", "odd")
    expect(page.locator("[data-section=cases] [role=status]")).to_have_text(f"4 cases found, 1 {DASH} 4 shown")
    page.click("th a.sort >> text=Case")
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Case")
    page.click("th a.sort >> text=Case")
    expect(page.locator("th[aria-sort=descending]")).to_have_attribute("scope", "col")
    page.click("table.cases tbody a.name >> nth=0")
    expect(page.locator("h1")).to_have_text("What is 27 times 27?")
    page.click("a[rel=next]")
    expect(page.locator("h1")).to_have_text("What is 21 times 21?")
    page.click("#score-2 .reason summary >> nth=0")
    page.click("a[href='#call-2']")
    assert page.is_visible("text=You judge.")
    page.click(".crumbs a >> nth=1")
    page.wait_for_url("**verdict=fail**")
    assert "sort=-case" in page.url
    assert watched.faults == []


def test_no_page_is_wider_than_its_window(watched, address):
    page, origin = watched.page, re.match(r"http://[^/]+", address)[0]
    for path in ("/", run_path(RUN), f"{run_path(RUN)}/results/202", f"{run_path(RUN)}?verdict=fail", *DRAWN):
        page.goto(f"{origin}{path}")
        assert too_wide(page) == [], path


def test_everything_that_acts_is_reached_by_the_keyboard_and_seen_there(watched, address):
    page, origin = watched.page, re.match(r"http://[^/]+", address)[0]
    page.goto(f"{origin}{run_path(RUN)}")
    page.keyboard.press("Tab")
    assert page.inner_text(":focus") == "Skip to the content"
    every = page.locator("a, button, input:not([type=hidden]), select, summary, [tabindex='0']")
    wanted = every.evaluate_all("all => all.filter(one => one.checkVisibility()).length")
    seen = set()
    for _ in range(wanted + 5):
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        where = page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        if page.evaluate("document.activeElement !== document.body"):
            assert outline != "none"
            seen.add(where)
        page.keyboard.press("Tab")
    assert len(seen) == wanted
