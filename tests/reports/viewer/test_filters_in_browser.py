"""Filters in a real browser: the list follows what is typed, and the address follows the list."""

import pytest

from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import open_store

from .chromium import chromium, playwright, served
from .conftest import a_run, keep, result

pytestmark = pytest.mark.slow

expect = playwright.expect
PAGE = run_path("20261121-101500-3f9a")
BOX = "input[type=search][name=q]"
ROWS = "table.cases tbody tr[data-id]"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("filters") / "evalmark.db") as store:
        keep(store, a_run(), [result(number) for number in range(30)])
        with served(store) as bound:
            yield bound


@pytest.fixture(scope="module")
def browser(address):
    with chromium() as opened:
        yield opened


@pytest.fixture
def tab(browser, address):
    context = browser.new_context()
    page = context.new_page()
    page.goto(address.address_of(PAGE))
    page.loads = []
    page.on("request", lambda request: request.is_navigation_request() and page.loads.append(request.url))
    yield page
    context.close()


def test_the_list_follows_what_is_typed_without_loading_the_page(tab):
    tab.locator(BOX).press_sequentially("verdict:fail tag:odd", delay=5)
    expect(tab.locator(ROWS)).to_have_count(4)
    expect(tab.locator(BOX)).to_be_focused()
    expect(tab.locator(BOX)).to_have_value("verdict:fail tag:odd")
    expect(tab.locator(".active-filters li")).to_have_text(
        [
            "failed \N{MULTIPLICATION SIGN}: remove this filter",
            "tagged odd \N{MULTIPLICATION SIGN}: remove this filter",
            "Clear all",
        ]
    )
    assert "q=verdict%3Afail+tag%3Aodd" in tab.url
    assert tab.loads == []


def test_a_chip_removes_its_filter_from_list_box_and_address(tab):
    tab.locator(BOX).fill("verdict:fail tag:odd")
    tab.locator(".active-filters a", has_text="failed").click()
    expect(tab.locator(BOX)).to_have_value("tag:odd")
    expect(tab.locator(ROWS)).to_have_count(15)
    assert "fail" not in tab.url
    assert tab.loads == []


def test_a_query_that_is_half_typed_keeps_the_list_and_says_what_is_missing(tab):
    tab.locator(BOX).fill("metric.similarity<")
    expect(tab.get_by_role("alert")).to_contain_text("needs a sign")
    expect(tab.locator(ROWS)).to_have_count(30)
    tab.locator(BOX).press_sequentially("0.3")
    expect(tab.locator(ROWS)).to_have_count(9)
    expect(tab.get_by_role("alert")).to_have_count(0)


def test_a_query_that_is_half_typed_is_called_wrong_only_once_the_reader_pauses(tab):
    tab.clock.install(time=0)
    tab.clock.pause_at(1_000)
    tab.locator(BOX).fill("verdict:fa")
    tab.clock.run_for(100)
    tab.wait_for_url("**q=verdict%3Afa*")
    tab.clock.run_for(500)
    expect(tab.get_by_role("alert")).to_have_count(0)
    expect(tab.locator("[aria-busy=true]")).to_have_count(0)
    tab.clock.run_for(500)
    expect(tab.get_by_role("alert")).to_have_count(1)


def test_back_returns_to_what_was_before_the_first_letter(tab):
    tab.locator(BOX).press_sequentially("case-00", delay=5)
    expect(tab.locator(ROWS)).to_have_count(10)
    tab.locator("nav[aria-label='Trials by how they ended'] a", has_text="fail").click()
    expect(tab.locator(ROWS)).to_have_count(3)
    tab.go_back()
    expect(tab.locator(ROWS)).to_have_count(10)
    tab.go_back()
    expect(tab.locator(ROWS)).to_have_count(30)
    expect(tab.locator(BOX)).to_have_value("")
    assert tab.loads == []


def test_choosing_in_a_list_filters_at_once_and_needs_no_button(tab):
    expect(tab.locator("button.submit")).to_be_hidden()
    tab.locator("select[name=verdict]").focus()
    tab.locator("select[name=verdict]").select_option("error")
    expect(tab.locator(ROWS)).to_have_count(3)
    expect(tab.locator("select[name=verdict]")).to_be_focused()


def test_a_sorted_list_stays_filtered(tab):
    tab.locator(BOX).fill("tag:odd")
    expect(tab.locator(ROWS)).to_have_count(15)
    tab.locator(".cases a.sort", has_text="Input").click()
    expect(tab.locator(".cases th[aria-sort=ascending]")).to_contain_text("Input")
    expect(tab.locator(".cases a.sort", has_text="Input")).to_be_focused()
    tab.locator(BOX).fill("tag:odd case-00")
    expect(tab.locator(ROWS)).to_have_count(5)
    assert "sort=case" in tab.url
    assert tab.loads == []


def test_without_a_script_a_button_filters(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address.address_of(PAGE))
    page.locator(BOX).fill("verdict:fail")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator(ROWS)).to_have_count(9)
    page.locator(".active-filters a", has_text="failed").click()
    expect(page.locator(ROWS)).to_have_count(30)
    context.close()


def test_a_view_is_saved_by_name_opened_in_another_run_of_the_browser_and_forgotten(tab):
    expect(tab.get_by_text("Save this view")).to_have_count(0)
    tab.locator(BOX).fill("verdict:fail tag:odd")
    tab.get_by_text("Save this view").click()
    name = "<b>odd failures</b>"
    tab.get_by_label("Name of the view").fill(name)
    tab.keyboard.press("Enter")
    expect(tab.locator(".saved-views a")).to_have_text([name])
    tab.goto(tab.url.partition("?")[0])
    tab.locator(".saved-views a", has_text=name).click()
    expect(tab.locator(ROWS)).to_have_count(4)
    expect(tab.locator(BOX)).to_have_value("verdict:fail tag:odd")
    tab.get_by_role("button", name=f"Forget the view {name}").click()
    expect(tab.locator(".saved-views a")).to_have_count(0)
    tab.reload()
    expect(tab.locator(".saved-views a")).to_have_count(0)
