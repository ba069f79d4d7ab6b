"""The viewer as a person uses it: a real browser, looked at through Playwright."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

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
DRAWN_RUN = " drawn"
"""The end of the id of a run whose texts are drawn."""


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


def shaped(text: str, number: int) -> Any:
    """The text in what pages draw: Markdown, JSON, messages and tool calls."""
    code = f"```html\n{text}\n```"
    return (
        f"# {text}\n\n- **{text}**\n> {text}\n\n| a | b |\n|---|--:|\n| {text} | `{text}` |\n\n{code}\n",
        f"[{text}]({text}) ![{text}](https://192.0.2.1/{text}) <https://192.0.2.1/{text}>\n\n1. *{text}*",
        {text: text, "of": [text, {text: None}]},
        json.dumps({"text": text, text: [1, text]}),
        [{"role": text, "content": [{"type": "text", "text": f"**{text}**"}]}, {"role": "tool", "content": text}],
        [{"role": "assistant", "content": text, "tool_calls": [_call(text)]}],
        {"name": text, "arguments": {text: text}},
    )[number % 7]


def _call(text: str) -> dict[str, Any]:
    return {"id": text, "type": "function", "function": {"name": text, "arguments": json.dumps({text: text})}}


def drawn(payload: str, number: int, target: str) -> Result:
    """The same attack, by one target, in texts that pages draw."""
    found = attacked(payload, number)
    value = shaped(payload, number)
    case = replace(found.trial.case, input=value, expected=shaped(payload, number + 1), contexts=(str(value),))
    steps = (Turn(role=payload, content=value), ToolCall(name=payload, arguments={payload: value}, result=value))
    return replace(
        found,
        trial=replace(found.trial, case=case, dataset=target, target=target),
        output=replace(found.output, value=shaped(payload, number + 2), error=None, transcript=steps),
    )


def attacked_run(store, first: int, *, is_drawn: bool = False) -> str:
    """A run whose every text is made of payloads, with a target for each case unless its texts are drawn; gives its id."""
    texts = TEXTS[first : first + A_RUN]
    text = texts[0]
    run = a_run(
        f"{text}{first}{DRAWN_RUN if is_drawn else ''}",
        name=text,
        target=text,
        suite=text,
        revision=text,
        notes=tuple(texts),
        datasets=tuple(DatasetInfo(name=each, path=each) for each in texts),
        metrics=tuple(Metric(name=each, unit=each, judge=each) for each in texts),
    )
    results = [drawn(each, n, text) if is_drawn else attacked(each, n) for n, each in enumerate(texts)]
    keep(store, run, results)
    return run.id


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """A server over a run of thirty cases, and over runs made of payloads."""
    with open_store(tmp_path_factory.mktemp("viewer") / "evalmark.db") as store:
        for first in range(0, len(TEXTS), A_RUN):
            attacked_run(store, first)
            attacked_run(store, first, is_drawn=True)
        keep(store, a_run(RUN), [result(number) for number in range(30)])
        keep_calls(store)
        with served(store) as made:
            yield made.address_of("/")


FOREIGN = r"""() => [
    ...(window.hit ? ['a script ran'] : []),
    ...[...document.querySelectorAll('script:not([src^="/static/script.js?"]), script:not(:empty), iframe, object, embed, '
        + 'img, video, base, math, style, link:not([href^="/static/"]), meta[http-equiv]:not([http-equiv=Content-Security-Policy]), [style]')]
        .map(one => `an element ${one.localName}`),
    ...[...document.querySelectorAll('*')].flatMap(one => [...one.attributes])
        .filter(one => one.name.startsWith('on') || /^[\s\0]*(javascript|data|vbscript):/i.test(one.value)
            && ['href', 'src', 'action', 'formaction', 'xlink:href'].includes(one.name))
        .map(one => `an attribute ${one.name}`),
    ...[...document.querySelectorAll('form')].filter(one => new URL(one.action).origin !== location.origin)
        .map(one => `a form to ${one.action}`),
]"""
"""What no page of ours has, whatever its texts are."""


@dataclass
class Watched:
    """A page, and what it did that no page of ours does."""

    page: object
    faults: list[str]

    def visit(self, target: str) -> None:
        self.page.goto(target, wait_until="load")
        self.look()

    def look(self) -> None:
        """Open all that is folded, and note what no page of ours has."""
        self.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        self.faults += self.page.evaluate(FOREIGN)


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
        "**/made-up",
        lambda route: route.fulfill(
            body="<img src=x onerror=1><a href=' javascript:1'>x</a><form action=//evil.example></form><i style=x>",
            content_type="text/html",
        ),
    )
    watched.visit(f"{watched.page.url.rstrip('/')}/made-up")
    kinds = {"an element img", "an element i", "an attribute onerror", "an attribute href"}
    assert kinds | {"a form to http://evil.example/"} <= {*watched.faults}


def test_two_hundred_payloads_in_every_field_run_nothing(watched, address):
    assert len({*PAYLOADS}) == len(PAYLOADS) >= 200
    origin = re.match(r"http://[^/]+", address)[0]
    seen = []
    for first in range(0, len(TEXTS), A_RUN):
        start = f"{origin}{run_path(f'{TEXTS[first]}{first}')}"
        watched.visit(f"{start}?sort=position")
        for link in links_to_cases(watched.page):
            watched.visit(link)
            seen.append(watched.page.text_content("h1.whole bdi, section[aria-labelledby=asked] > div"))
        for address_of_page in pages_of(origin, f"{TEXTS[first]}{first}", TEXTS[first]):
            watched.visit(address_of_page)
    watched.visit(f"{origin}/trends?suite=*")
    watched.visit(f"{origin}/?text=%22%3E%3Cscript%3Ewindow.hit=1%3C/script%3E&status=%3Cimg+src=x%3E")
    assert len(seen) == len(TEXTS)
    assert sum(text == visible(payload) for text, payload in zip(seen, TEXTS, strict=True)) > 40  # the others are drawn
    assert watched.faults == []


def links_to_cases(page) -> list[str]:
    return page.eval_on_selector_all("table.cases tbody a.name", "all => all.map(one => one.href)")


def pages_of(origin: str, run: str, text: str) -> list[str]:
    """Addresses of pages that show much of a run, with payloads in them too."""
    start, name = f"{origin}{run_path(run)}", quote(text, errors="replace")
    grid = urlencode({"run": run}, errors="replace")
    return [
        f"{start}?text=script&tag=%3Cb%3E&sort=score:{name}&q={name}",
        f"{start}?verdict=fail&label=nobody&q=tag:%22{name}%22",
        f"{start}/charts?quality=%3Cimg+src=x%3E&against={name}",
        f"{origin}/trends?suite={name}&of=%3Cimg+src=x%3E",
        f"{origin}/trends?suite={name}",
        f"{origin}/grid?{grid}",
        f"{origin}/grid?{grid}&differences=1&density=full&first=1",
        f"{origin}/go?q={name}&at=%22%3E%3Cimg+src=x%3E",
        f"{origin}/go?q=&at={quote(run_path(run))}",
        f"{start}/charts?page=9&metric={name}",
        f"{start}?q=metadata.{name}:x+target:{name}&sort=-score:{name}",
        f"{origin}/sessions?project={name}&text={name}&label=%3Cb%3E",
        f"{origin}/label?what=run:{name}&n=%3Cb%3E",
        f"{origin}/grid#%E0%A4%A",
    ]


def test_payloads_in_markdown_json_messages_and_tool_calls_run_nothing(watched, address):
    origin = re.match(r"http://[^/]+", address)[0]
    count = 0
    for first in range(0, len(TEXTS), A_RUN):
        run = f"{TEXTS[first]}{first}{DRAWN_RUN}"
        start = f"{origin}{run_path(run)}"
        for density in ("compact", "full", "comfortable"):
            watched.visit(f"{start}?sort=position&density={density}")
        watched.visit(f"{start}?sort=position&as=text")
        watched.visit(f"{start}?sort=position")
        assert watched.page.locator("table.reading").count() == 1
        cases = links_to_cases(watched.page)
        unfold_rows(watched)
        for case in cases:
            watched.visit(case.replace("/results/", "/rows/"))
            assert watched.page.locator("td.output :is(.rich, .text)").count()
            watched.visit(case)
            count += watched.page.locator(".answered .rich, section[aria-labelledby=timeline] .rich").count() > 0
        for address_of_page in pages_of(origin, run, TEXTS[first]):
            watched.visit(address_of_page)
    assert count > len(TEXTS) * 2 / 3, "so many are drawn"
    assert watched.faults == []


def unfold_rows(watched: Watched) -> None:
    """Put whole rows in the place of those with excerpts, as a script of ours does."""
    page = watched.page
    for number in range(3):
        page.click("table.reading [data-unfold]:text('Show whole case') >> nth=0")
        expect(page.locator("tr[data-unfolded]")).to_have_count(number + 1)
    page.keyboard.press("Control+k")
    page.fill("dialog.palette input", "script")
    page.wait_for_timeout(200)
    watched.look()
    page.keyboard.press("Escape")


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
    page.click("th a.sort >> text=Input")
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Input")
    page.click("th a.sort >> text=Input")
    expect(page.locator("th[aria-sort=descending]")).to_have_attribute("scope", "col")
    page.click("table.cases tbody a.name >> nth=0")
    expect(page.locator("h1")).to_have_text("What is 27 times 27?")
    page.click("a[rel=next]")
    expect(page.locator("h1")).to_have_text("What is 21 times 21?")
    page.click("#score-2 .reason summary >> nth=0")
    page.click("a[href='#call-2']")
    expect(page.locator("text=You judge.")).to_be_visible()
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
