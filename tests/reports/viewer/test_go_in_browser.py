"""The dialog of destinations in a real browser, over any page and by keyboard alone."""

import pytest

from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import open_store

from .chromium import chromium, playwright, served
from .conftest import a_run, keep, result

pytestmark = pytest.mark.slow

expect = playwright.expect
PAGE = run_path("20261121-101500-3f9a")


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("go") / "evalmark.db") as store:
        keep(store, a_run(), [result(number) for number in range(30)])
        with served(store) as bound, chromium() as browser:
            opened = browser.new_page()
            opened.goto(bound.address_of(PAGE))
            opened.origin = bound.origin
            yield opened


def test_the_keyboard_alone_reaches_any_page(tab):
    tab.goto(tab.origin + PAGE)
    tab.keyboard.press("Control+k")
    field = tab.locator("dialog.palette input[type=search]")
    expect(field).to_be_focused()
    tab.keyboard.type("charts of")
    expect(tab.locator("dialog.palette li")).to_have_count(1)
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"**{PAGE}/charts")


def test_arrows_move_between_links_and_letters_go_on_searching(tab):
    tab.goto(tab.origin + PAGE)
    tab.keyboard.press("Control+k")
    field = tab.locator("dialog.palette input[type=search]")
    expect(field).to_be_focused()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    expect(tab.locator("dialog.palette li:nth-child(2) a")).to_be_focused()
    tab.keyboard.type("simi")
    expect(field).to_have_value("simi")
    expect(tab.locator("dialog.palette li")).to_have_count(1)
    assert tab.url.endswith(PAGE)
    tab.keyboard.press("Escape")
    expect(tab.locator("dialog")).to_have_count(0)


def test_a_slash_opens_it_where_a_page_has_no_search_field(tab):
    tab.goto(f"{tab.origin}{PAGE}/charts")
    tab.keyboard.press("/")
    expect(tab.locator("dialog.palette input[type=search]")).to_have_value("")
    tab.keyboard.press("Control+k")
    expect(tab.locator("dialog")).to_have_count(0)


def test_the_link_in_the_header_opens_it_too(tab):
    tab.goto(tab.origin + PAGE)
    tab.click("a.go")
    expect(tab.locator("dialog.palette li")).not_to_have_count(0)
    assert tab.url.endswith(PAGE)


def test_the_command_for_a_colleague_names_the_place_on_the_page(tab):
    tab.goto(f"{tab.origin}{PAGE}/results/2#step-1")
    tab.keyboard.press("Control+k")
    expect(tab.locator("dialog.palette .share code")).to_have_text(f"evalmark view '{PAGE}/results/2#step-1'")


def test_a_page_without_sessions_has_one_button_that_copies_and_a_case_one_for_each_text(tab):
    tab.goto(f"{tab.origin}/sessions")
    expect(tab.locator("main").get_by_role("button", name="Copy")).to_have_count(1)
    tab.goto(f"{tab.origin}{PAGE}/results/3")
    expect(tab.locator("main p.command")).to_have_count(0)
    expect(tab.locator("button.copy button")).to_have_count(0)
