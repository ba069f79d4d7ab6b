"""Comparing as a person does it: a real browser, looked at through Playwright."""

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from evalmark import Score, compare
from evalmark.core.text import one_line
from evalmark.reports import save_comparison
from evalmark.reports.html.escaping import visible
from evalmark.stats.comparison.flip_examples import flip_examples
from evalmark.store import open_store

from .conftest import a_run, keep, result
from .payloads import PAYLOADS

# The browser's own helpers stand behind what is skipped where there is none.
from .chromium import chromium, playwright, served, too_wide  # isort: skip
from .test_browser import Watched, attacked  # isort: skip

pytestmark = pytest.mark.slow

expect = playwright.expect
OLD, NEW, BAD, WORSE = (f"2026112{day}-101500-3f9a" for day in range(1, 5))
HALF = len(PAYLOADS) // 2
TEXTS = ["\n".join(PAYLOADS[first : first + 12]) for first in range(0, len(PAYLOADS), 12)]


def turned(number):
    """Every case but one that passed fails, with another answer; those that break do so as before."""
    before = result(number)
    if before.output.error is not None or number % 3 == 0 or number == 1:
        return before
    score = replace(before.scores[0], raw=0.1, value=0.1, passed=False)
    return replace(before, output=replace(before.output, value="It is 1. It roars."), scores=(score, before.scores[1]))


def flipped(found):
    """The same attack, passed, and with other words around it."""
    scores = tuple(replace(score, passed=True) for score in found.scores if score.status == "scored")
    value = f"before {found.output.value} behind"
    return replace(found, output=replace(found.output, value=value, error=None), scores=scores)


def whole(found):
    return replace(found, output=replace(found.output, error=None), scores=(found.scores[0],))


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    with open_store(tmp_path_factory.mktemp("viewer") / "evalmark.db") as store:
        attacks = [
            replace(attacked(text, n), trial=replace(attacked(text, n).trial, dataset=TEXTS[0], target=TEXTS[1]))
            for n, text in enumerate(TEXTS)
        ]
        broken = replace(
            attacks[0],
            output=replace(attacks[0].output, error=TEXTS[0]),
            scores=(Score(name="x", status="error", reason=TEXTS[1]),),
        )
        keep(store, a_run(BAD, name=TEXTS[0], target=TEXTS[1]), [flipped(one) for one in attacks])
        keep(store, a_run(WORSE, name=TEXTS[0], target=f"{TEXTS[1]}, {TEXTS[2]}"), [broken, *map(whole, attacks[1:])])
        keep(store, a_run(OLD), [result(number) for number in range(30)])
        keep(store, a_run(NEW, created="2026-11-22T10:15:00+00:00"), [turned(number) for number in range(30)])
        with served(store) as made:
            yield made.address_of("/")


@pytest.fixture(scope="module")
def browser(address):
    with chromium() as opened:
        yield opened


@pytest.fixture
def watched(browser, address) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    found = Watched(context.new_page(), [])
    found.page.on("dialog", lambda dialog: (found.faults.append("a dialog"), dialog.dismiss()))
    found.page.on("console", lambda message: found.faults.append(f"console: {message.text}"))
    found.page.on("pageerror", lambda error: found.faults.append(f"error: {error}"))
    found.visit(address)
    yield found
    context.close()


def origin_of(address):
    return re.match(r"http://[^/]+", address)[0]


def test_a_person_compares_two_runs_of_the_list(watched):
    page = watched.page
    for run in (OLD, NEW):
        page.check(f"input[name=pick][value='{run}']")
    expect(page.locator("tr:has(input:checked)")).to_have_count(2)
    expect(page.locator("#pick")).to_be_visible()
    page.click("#pick >> text=Clear")
    expect(page.locator("#pick")).to_be_hidden()
    for run in (OLD, NEW):
        page.check(f"input[name=pick][value='{run}']")
    page.click("#pick >> text=Compare")
    expect(page.locator("h1 + .outcome")).to_contain_text("worse")
    page.wait_for_load_state()
    assert page.locator("details.beside[open]").count() > 5
    first = page.locator("details.beside").first
    assert first.locator("del").first.inner_text().strip() == "784"
    assert first.locator("ins").first.inner_text().strip() == "1"
    page.click("nav[aria-label='Cases by change'] >> text=unchanged")
    page.wait_for_url("**outcome=same**")  # and its page has come
    expect(page.locator("details.beside[open]")).to_have_count(0)
    page.locator("details.beside summary").first.click()
    page.locator("details.beside a >> text=Open").first.click()
    expect(page.locator("h1")).to_contain_text(re.compile("^What is"))
    assert watched.faults == []


def test_keys_go_from_flip_to_flip(watched, address):
    page = watched.page
    watched.visit(f"{origin_of(address)}/compare?run={NEW}&baseline={OLD}")
    flips, rows = page.locator("details[data-flip]").count(), page.locator("details.beside").count()
    assert 5 < flips < rows
    at = "[...document.querySelectorAll('details.beside')].findIndex((one) => one.hasAttribute('aria-current'))"
    for key, expected in (("n", 0), ("n", 1), ("p", 0), ("p", 0)):
        page.keyboard.press(key)
        assert page.evaluate(at) == expected
    page.keyboard.press("o")
    assert not page.evaluate("document.querySelector('details.beside').open")
    for _ in range(flips + 3):
        page.keyboard.press("n")
    assert page.evaluate(at) == flips - 1, "the last one that flipped, not the next row"
    expect(page.locator("#announcement")).to_have_text("No case after this one flipped.")
    page.keyboard.press("j")
    assert page.evaluate(at) == flips
    assert watched.faults == []


def test_a_grid_shows_a_column_at_a_time_where_there_is_no_room_for_all(watched, address):
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 800})
    watched.visit(f"{origin_of(address)}/grid?run={OLD}&run={NEW}")
    shown = "[...document.querySelectorAll('.grid > tbody > tr:nth-child(2) > td')].map((one) => one.checkVisibility())"
    assert page.evaluate(shown) == [True, False]
    page.click(".column-switch li:nth-child(2) a")
    assert page.evaluate(shown) == [False, True]
    assert page.url.endswith("&column=1#cases")
    page.reload()
    assert page.evaluate(shown) == [False, True], "the address says which column"
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.evaluate(shown) == [True, True]
    for width in (320, 390, 800, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("j")
    page.keyboard.press("l")
    assert page.evaluate("document.activeElement.className") == "cell"
    assert watched.faults == []


@pytest.mark.parametrize("width", [320, 360, 1280])
def test_the_list_tells_the_gate_and_what_became_of_a_run_however_narrow_it_is(watched, width):
    page = watched.page
    page.set_viewport_size({"width": width, "height": 800})
    row = page.locator(f"tr[data-id='{NEW}']")
    assert row.locator(".gate").inner_text() == "\N{BALLOT X} failed"
    trend, name = (row.locator(part).bounding_box() for part in (".trend", "a.name"))
    assert "worse" in row.locator(".trend").inner_text()
    assert trend["x"] + trend["width"] <= width
    assert (trend["y"] > name["y"] + name["height"]) is (width < 768), "in a line of its own where there is no room"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    table = page.eval_on_selector("table.runs", "one => one.parentElement.scrollWidth - one.parentElement.clientWidth")
    assert table == 0 or width >= 768, "nothing is to be scrolled from left to right"
    assert watched.faults == []


def test_a_person_sees_what_flipped_on_the_page_of_a_run(watched, address):
    page = watched.page
    watched.visit(f"{origin_of(address)}/runs/{NEW}")
    page.click(".against >> text=regressed")
    page.wait_for_url("**flipped=worse**")  # and its page has come
    assert page.input_value("select[name=flipped]") == "worse"
    assert page.locator("table.cases tbody tr").count() > 5
    page.click("summary >> text=Compare with")
    page.click("form[action='/compare'] button")
    expect(page.locator(".why")).to_contain_text("fell from")
    assert watched.faults == []


def test_payloads_beside_payloads_run_nothing(watched, address):
    origin = origin_of(address)
    watched.visit(f"{origin}/compare?run={WORSE}&baseline={BAD}")
    page = watched.page
    assert page.locator("details.beside").count() == min(20, len(TEXTS))
    assert page.locator("del, ins").count() > 10
    page.eval_on_selector_all("details", "every => every.forEach(one => one.open = true)")
    asked = page.eval_on_selector_all("summary b", "every => every.map(one => one.textContent)")
    assert {one_line(visible(text), 40)[:20] for text in TEXTS[1:]} <= {text[:20] for text in asked}
    assert page.locator(".given").count() == 2 * len(TEXTS), "the input and the expected output"
    watched.visit(f"{origin}/compare?run={WORSE}&baseline={BAD}&page=2")
    for odd in ("<script>window.hit=1</script>", '"><img src=x onerror=alert(1)>'):
        for field in ("run", "baseline", "target", "against", "metric", "outcome", "of", "pick", "page"):
            watched.visit(f"{origin}/compare?{urlencode([('run', 'last'), (field, odd)])}")
    watched.visit(f"{origin}/runs/{WORSE}?flipped=any")
    for query in ("", "&differences=1", "&density=full&show=fails", "&density=compact&first=1"):
        watched.visit(f"{origin}/grid?run={WORSE}&run={BAD}{query}")
        expect(page.locator("table.grid > tbody > tr").first).to_be_visible()
    watched.visit(f"{origin}/compare?run={WORSE}&baseline={BAD}&baseline={OLD}")
    assert [fault for fault in watched.faults if "404" not in fault] == []


def test_a_comparison_in_one_file_runs_nothing_either(watched, tmp_path):
    attacks = [attacked(text, n) for n, text in enumerate(TEXTS)]
    before = replace(a_run(BAD, name=TEXTS[0], status="complete"), results=[flipped(one) for one in attacks])
    now = replace(a_run(WORSE, name=TEXTS[1], status="complete"), results=[whole(one) for one in attacks])
    found = compare(now, before)
    examples = flip_examples(found, now, before, 100)
    assert len(examples) == len(TEXTS)
    file = tmp_path / "comparison.html"
    save_comparison(found, file, examples)
    watched.visit(file.as_uri())
    assert watched.page.locator("details.beside").count() == len(TEXTS)
    assert too_wide(watched.page) == []
    assert watched.faults == ["an element style"], "that of the page itself"


def test_no_comparison_is_wider_than_its_window(watched, address):
    page = watched.page
    for query in ("", f"?run={NEW}", f"?run={WORSE}&baseline={BAD}", f"?run={NEW}&baseline={BAD}"):
        page.goto(f"{origin_of(address)}/compare{query}")
        page.eval_on_selector_all("details", "every => every.forEach(one => one.open = true)")
        assert too_wide(page) == [], query
