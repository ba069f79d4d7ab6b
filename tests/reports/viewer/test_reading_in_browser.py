"""Rows of a run page in a real browser: they unfold in place and fold again."""

from dataclasses import replace

import pytest

from evalmark import Output
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Score
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import open_store

from .chromium import chromium, playwright, served
from .conftest import a_run, keep, result

pytestmark = pytest.mark.slow

expect = playwright.expect
PAGE = run_path("20261121-101500-3f9a")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("reading") / "evalmark.db") as store:
        long = Output(value="word " * 199 + "last.")
        keep(store, a_run(), [replace(result(number), output=long) for number in range(3)])
        with served(store) as bound:
            yield bound


@pytest.fixture
def tab(address):
    with chromium() as browser:
        page = browser.new_context().new_page()
        page.goto(address.address_of(PAGE))
        yield page


@pytest.mark.parametrize("words", ["Show whole case", "more characters"])
def test_a_row_unfolds_in_place_and_folds_to_what_it_was(tab, words):
    row = tab.locator("tr[data-id='2']")
    before = row.inner_text()
    row.get_by_role("link", name=words).click()
    expect(row).to_contain_text("last.")
    expect(tab.locator("[data-unfolded]")).to_have_count(1)
    row.get_by_role("link", name="Show less").click()
    expect(tab.locator("[data-unfolded]")).to_have_count(0)
    assert row.inner_text() == before
    assert tab.url.endswith(PAGE)


@pytest.mark.parametrize("place", ["the page of a case", "an unfolded row"])
def test_an_output_is_copied_whole_by_key_and_readers_of_the_screen_hear_it(tab, address, place):
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    if place == "an unfolded row":
        tab.locator("tr[data-id='2']").get_by_role("link", name="Show whole case").click()
    else:
        tab.goto(f"{address.origin}{PAGE}/results/2")
    tab.get_by_role("button", name="Copy the output", exact=True).press("Enter")
    expect(tab.locator(".announcement")).to_contain_text("Copied: the output")
    assert tab.evaluate("navigator.clipboard.readText()") == "word " * 199 + "last."


def test_there_is_no_button_to_copy_without_a_script(address):
    with chromium() as browser:
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(address.address_of("/"))
        page.goto(f"{address.origin}{PAGE}/results/2")
        expect(page.locator("#answered")).to_be_visible()
        expect(page.locator(".copy").first).to_be_hidden()


@pytest.mark.parametrize("width", [390, 800])
def test_one_line_a_case_fits_the_width_with_many_metrics(tmp_path, width):
    names = [f"a metric with a long name, number {number}" for number in range(6)]
    scores = [Score(name=name, value=0.25, passed=False if number < 2 else None) for number, name in enumerate(names)]
    with open_store(tmp_path / "evalmark.db") as store:
        run = a_run(metrics=[Metric(name=name) for name in names])
        keep(store, run, [replace(result(number), scores=scores) for number in range(3)])
        with served(store) as bound, chromium() as browser:
            page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
            page.goto(bound.address_of(f"{PAGE}?density=compact"))
            table = page.get_by_role("region", name="Table of cases")
            assert table.evaluate("one => one.scrollWidth <= one.clientWidth")
