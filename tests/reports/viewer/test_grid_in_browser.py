"""A grid and the page of a run with many targets, as a person uses them: a real browser."""

import re
from collections.abc import Iterator

import pytest

from evalmark.core.values.run import Metric
from evalmark.store import open_store

from .conftest import a_run, keep
from .test_grid import answer

# The browser's own helpers stand behind what is skipped where there is none.
from .chromium import chromium, playwright, served, too_wide  # isort: skip

pytestmark = pytest.mark.slow

expect = playwright.expect
THREE, THIRTY = "20261121-101500-aaaa", "20261122-101500-bbbb"
CLIPPED = (
    """[...document.querySelectorAll("main .scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1).length"""
)


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    with open_store(tmp_path_factory.mktemp("viewer") / "evalmark.db") as store:
        for run, n in ((THREE, 3), (THIRTY, 30)):
            targets = [f"provider/model-with-a-long-name-{number:02}" for number in range(n)]
            results = [
                answer(case, target, f"**{case}** by {target}", (case + place) % 4 != 0 or case == 2)
                for case in range(6)
                for place, target in enumerate(targets)
            ]
            keep(store, a_run(run, target=", ".join(targets), metrics=(Metric(name="right"),)), results)
        with served(store, author="ann") as made:
            yield made.address_of("/")


@pytest.fixture(scope="module")
def browser(address) -> Iterator:
    with chromium() as found:
        yield found


def origin_of(address):
    return re.match(r"http://[^/]+", address)[0]


@pytest.mark.parametrize("width", [390, 800, 1280])
def test_thirty_targets_are_read_without_scrolling_sideways(address, browser, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(address)
    page.goto(f"{origin_of(address)}/runs/{THIRTY}")
    expect(page.locator(".of-group")).to_have_count(30)
    assert page.evaluate(CLIPPED) == 0
    page.locator(".of-group summary").first.click()
    expect(page.locator(".of-group[open] .metrics")).to_be_visible()
    assert page.evaluate(CLIPPED) == 0
    assert not too_wide(page)
    page.close()


def test_a_typed_query_and_the_keys_lead_through_a_grid(address, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    page.goto(f"{origin_of(address)}/grid?run={THREE}&order=file")
    expect(page.locator(".grid tbody tr")).to_have_count(6)
    page.get_by_role("searchbox").fill("verdict:fail")
    expect(page.locator(".grid tbody tr")).to_have_count(3)
    assert "q=verdict%3Afail" in page.url
    page.keyboard.press("Escape")
    for case in ("case-0", "case-3", "case-4"):
        page.keyboard.press("n")
        expect(page.locator("tr[aria-current]")).to_contain_text(case)
    page.set_viewport_size({"width": 1280, "height": 320})
    page.keyboard.press("p")
    covered = "[...document.querySelectorAll('.heads th, tr[aria-current]')].map((one) => one.getBoundingClientRect())"
    head, *_, row = page.evaluate(f"{covered}.map((box) => [box.top, box.bottom])")
    assert head[1] <= row[0] + 1, "the names of the columns do not cover the row"
    expect(page.locator("tr[aria-current]")).to_contain_text("case-3")
    page.close()


def test_on_a_narrow_screen_the_columns_switch_after_a_filter_too(address, browser):
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(address)
    page.goto(f"{origin_of(address)}/grid?run={THREE}")
    page.get_by_role("searchbox").fill("verdict:fail")
    expect(page.locator(".grid tbody tr")).to_have_count(3)
    page.locator(".column-switch a").nth(2).click()
    expect(page.locator("thead th.chosen")).to_contain_text("long-name-02")
    assert not too_wide(page)
    page.close()


@pytest.mark.parametrize("script", [True, False], ids=["with a script", "without one"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_cell_is_labelled_in_its_place_by_a_form_that_all_cells_share(address, browser, width, script):
    page = browser.new_page(viewport={"width": width, "height": 900}, java_script_enabled=script)
    page.goto(address)
    page.goto(f"{origin_of(address)}/grid?run={THREE}&order=file&column=1")
    cell = page.locator(".grid tbody tr").nth(3).locator("td").nth(1)
    good, bad = (cell.get_by_role("button", name=name) for name in ("Good", "Bad"))
    if script:
        cell.hover()
        good.focus()
        page.keyboard.press("d")
        expect(page.locator("#announcement")).to_have_text("Bad: What is 3 times 7?")
    else:
        cell.hover()
        bad.click()
    expect(bad).to_have_attribute("aria-pressed", "true")
    expect(cell.locator(".labelled")).to_have_text("bad")
    cell.hover()
    good.click()
    expect(cell.locator(".labelled")).to_have_text("good")
    assert (page.url.endswith("#row-4"), too_wide(page)) == (not script, [])
    page.close()
