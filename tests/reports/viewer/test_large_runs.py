"""Pages of a run that is too large to be sorted while a page waits."""

import html
import re
import time
from types import SimpleNamespace

import pytest

from evalmark import Case, Output, Result, Score
from evalmark.core.values.score import Trial
from evalmark.reports.text.numbers import DASH
from evalmark.reports.viewer.urls.case_query import parse_case_query
from evalmark.storage.queries.pages import CaseRow, PagePosition, ResultPage
from evalmark.store import open_store

from .conftest import a_run, from_browser, keep, shown
from .test_live_updates import again
from .test_pages import PAGE, RUN, page, words

COUNT = 5_200
"""More than are sorted while a page waits."""


def small(number: int) -> Result:
    case = Case(id=f"case-{number:04}", input="late" if number == 5_150 else "?", tags=("even",) if number % 2 else ())
    trial = Trial(case=case, dataset="squares.jsonl", target="app:answer", position=number)
    value = number * 7 % COUNT / COUNT
    score = Score(name="similarity", raw=value, value=value, passed=True)
    return Result(trial=trial, output=Output(value="!"), scores=(score,))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("large") / "evalmark.db") as store:
        keep(store, a_run(), [small(number) for number in range(COUNT)])
        yield shown(store)


def rows(text: str) -> list[int]:
    return [int(found) for found in re.findall(r'(?:<small><code>|<a class="name"[^>]*><bdi>)case-(\d+)', text)]


def link(text: str, way: str) -> str:
    found = re.search(f'<a rel="{way}" href="([^"#]*)#cases">', text)
    return html.unescape(found[1]) if found else ""


def counted(app, target: str) -> str:
    """A page, as soon as all results were searched."""
    for _ in range(500):
        text = page(app, target)
        if not any(phrase in words(text) for phrase in ("not known yet", "being searched", "being counted")):
            return text
        time.sleep(0.01)
    raise AssertionError(words(text))


def test_pages_lead_to_each_other(large):
    first = page(large, f"{PAGE}?size=100&sort=score:similarity")
    assert f"5,200 cases, 1 {DASH} 100 shown" in words(first)
    assert "Page 1 of 52" in words(first)
    met, text = rows(first), first
    for number in range(2, 7):
        text = page(large, link(text, "next"))
        assert f"Page {number} of 52" in words(text)
        met += rows(text)
    assert [number * 7 % COUNT for number in met] == list(range(600))
    assert rows(page(large, link(text, "prev"))) == met[-200:-100]
    last = next(number for number in range(COUNT) if number * 7 % COUNT == COUNT - 31)
    text = counted(large, f"{PAGE}?size=100&sort=score:similarity&page=52&after={last + 1}")
    assert [number * 7 % COUNT for number in rows(text)] == list(range(COUNT - 30, COUNT))
    assert not link(text, "next")


def test_what_is_searched_beside_the_page_is_known_when_one_looks_again(large):
    text = counted(large, f"{PAGE}?text=late")
    assert rows(text) == [5_150]
    assert f"1 case found, 1 {DASH} 1 shown" in words(text)
    assert f"2,600 cases found, 1 {DASH} 50 shown" in words(counted(large, f"{PAGE}?tag=even"))


def test_a_case_has_the_neighbours_that_its_list_has(large):
    text = page(large, f"{PAGE}/results/11?sort=-score:similarity&tag=even")
    places = {number * 7 % COUNT: number for number in range(1, COUNT, 2)}
    value = 10 * 7 % COUNT
    before = places[min(place for place in places if place > value)]
    after = places[max(place for place in places if place < value)]
    ways = dict(re.findall(r'rel="(prev|next)" href="[^"]*/results/(\d+)\?', text))
    assert ways == {"prev": str(before + 1), "next": str(after + 1)}


@pytest.mark.parametrize(
    "query", ["after=7&before=9", "after=x", "after=-1", "before=99999999999999999999", "stretch=9&after=3"]
)
def test_an_address_that_leads_nowhere_leads_to_the_beginning(large, query):
    found = rows(page(large, f"{PAGE}?{query}"))
    assert found[:2] in ([0, 1], [7, 8])


STEPS = [
    pytest.param(
        {},
        {"stopped_at": PagePosition(after=9, index_range=1)},
        "next",
        "after=9&stretch=1",
        "Continue search",
        id="broken off",
    ),
    pytest.param(
        {"after": "5"},
        {"stopped_at": PagePosition(before=9)},
        "prev",
        "before=9",
        "Continue search",
        id="broken off backwards",
    ),
    pytest.param({}, {"rows": 2}, "next", "after=2", "Next", id="a full page"),
    pytest.param({"after": "5"}, {"rows": 2, "is_first": False}, "prev", "before=1", "Previous", id="a later page"),
    pytest.param(
        {"after": "5"}, {"is_first": False, "is_last": True}, "prev", "", "To the beginning", id="nothing more"
    ),
]


@pytest.mark.parametrize(("query", "given", "way", "leads", "said"), STEPS)
def test_the_way_on_leads_to_where_the_look_was_broken_off(large, query, given, way, leads, said):
    found = ResultPage(**{"is_first": not query, "is_last": False, **given, "rows": ()})
    if given.get("rows"):
        made = tuple(CaseRow(leader=number + 1, results=()) for number in range(given["rows"]))
        found = ResultPage(rows=made, is_first=not query, is_last=False)
    context = large.app.routes[0].endpoint.args[0]
    run = SimpleNamespace(id=RUN, status="complete")
    pages = context._templates.get_template("case_pages.html").make_module({"run": run})
    text = str(pages.steps(run, found, parse_case_query(query, [], [])))
    (shown_there,) = re.findall(f'<a rel="{way}" href="([^"]*)">([^<]*)</a>', text)
    assert said in shown_there[1]
    assert html.unescape(shown_there[0]).partition("#")[0].endswith(leads)
    assert ("None found so far" in str(pages.shown(found, 0, parse_case_query(query, [], [])))) == (
        found.stopped_at is not None
    )


def test_a_case_that_left_the_run_is_no_page(large):
    assert from_browser(large, f"{PAGE}/results/999999").status == 404


def test_a_page_whose_total_is_being_counted_waits_for_it_and_then_has_no_version(large):
    view = large.app.routes[0].endpoint.args[0].view
    address = f"{PAGE}?text=case-1"
    with view._searching:  # the search does not begin before this
        text = page(large, address)
        known = re.search(r'data-live="cases"[^>]* data-pending="total" data-mark="([\w-]+)"', text)[1]
        assert again(large, address, known).status == 304
    text = counted(large, address)
    assert "data-mark" not in text
    assert "data-pending" not in text
    assert again(large, address, known).status == 200
