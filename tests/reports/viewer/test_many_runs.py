"""A store of many runs: a page reads as many headers of them as it shows, and a run of long ago is held against one before it."""

import re
from contextlib import closing
from dataclasses import replace

import pytest

from evalmark.core.values.run import Metric
from evalmark.core.values.spending import Spending
from evalmark.reports.viewer.app import starlette_app
from evalmark.reports.viewer.background import BackgroundFigures
from evalmark.reports.viewer.compare_page import MOST_RUNS
from evalmark.reports.viewer.page_context import PageContext
from evalmark.reports.viewer.runs_page import run_groups
from evalmark.reports.viewer.store_view import StoreView
from evalmark.storage.database.schema import transaction
from evalmark.storage.database.sqlite import open_writable_file
from evalmark.storage.queries.filter import ResultFilter
from evalmark.storage.results.stored_runs import insert_run
from evalmark.store import open_store

from .conftest import POLICY, a_run, asked, keep, result, shown
from .test_compare import NEW, OLD, later
from .test_pages import page, words

LATER = 700
"""Runs of the same suite since then."""


class Watched:
    """A store that counts the runs it hands out in lists."""

    def __init__(self, store) -> None:
        self._store, self.runs_read = store, 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def runs(self, *where, **given):
        found = self._store.runs(*where, **given)
        self.runs_read += len(found)
        return found


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "evalmark.db"
    with open_store(path) as store:
        keep(store, a_run(OLD), [result(n) for n in range(12)])
        keep(store, a_run(NEW), [later(n) for n in range(12)])
        newest = replace(a_run(), datasets=store.run(NEW).datasets, status="complete", results=())
        with closing(open_writable_file(path, lambda _: None)) as db, transaction(db):
            for n in range(LATER):
                insert_run(db, replace(newest, id=f"later-{n}"), "complete")
        yield Watched(store)


@pytest.fixture
def app(crowded):
    crowded.runs_read = 0
    return starlette_app(PageContext(StoreView(crowded, BackgroundFigures(patience=60)), POLICY.key, ""))


def compared(text):
    return re.findall(r'<a href="/runs/([^"]*)"><code>', text)


@pytest.mark.parametrize(
    ("query", "runs"),
    [
        pytest.param(f"?run={NEW}", [NEW, OLD], id="a run of long ago, against the one before it"),
        pytest.param(f"?run={NEW}&baseline={OLD}", [NEW, OLD], id="two runs of long ago"),
        pytest.param("?run=last", [f"later-{LATER - 1}", f"later-{LATER - 2}"], id="the newest run"),
        pytest.param(f"?pick={OLD}&pick={NEW}", [NEW, OLD], id="two runs of long ago that were chosen in the list"),
    ],
)
def test_a_comparison_is_of_the_runs_that_it_names_however_many_came_later(app, query, runs):
    assert compared(asked(app, f"/compare{query}").text) == runs


def test_a_comparison_reads_the_runs_that_its_form_offers_and_some_before_the_run(app, crowded):
    asked(app, f"/compare?run={NEW}")
    assert crowded.runs_read == MOST_RUNS + 1
    asked(app, "/compare?run=last")
    assert crowded.runs_read <= 2 * MOST_RUNS + 1 + 550


def test_the_page_of_a_run_of_long_ago_holds_it_against_the_one_before_it(app, crowded):
    text = asked(app, f"/runs/{NEW}").text
    assert f"baseline={OLD}" in text
    assert "baseline=later-" not in text
    assert crowded.runs_read == 1, "the one before it, which is the first"


def test_the_next_case_that_flipped_is_found_without_more_runs_than_it_takes(app, crowded):
    number = crowded.browse(NEW).page(ResultFilter()).rows[2].leader
    text = asked(app, f"/runs/{NEW}/results/{number}?flipped=worse").text
    assert 'rel="next"' in text
    assert crowded.runs_read <= 50


def test_a_run_that_is_not_among_those_offered_can_be_labelled(app, crowded):
    text = asked(app, f"/label?what=run:{OLD}").text
    assert f'<option value="run:{OLD}" selected>' in text
    assert crowded.runs_read == 100


def headings(text):
    return [words(one) for one in re.findall(r'<tr class="group".*?</tr>', text, re.DOTALL)]


def listed(text):
    return re.findall(r'<tr data-id="([^"]*)"', text)


GROUPED = (
    ("a", {"name": "faq", "suite": "faq.yaml", "target": "app:small", "tags": ("nightly",)}),
    ("b", {"name": "faq", "suite": "large.yaml", "target": "app:large"}),
    ("c", {"name": "shop", "suite": "shop.yaml", "target": "app:small", "tags": ("nightly", "eu")}),
    ("d", {"name": "faq", "suite": "faq.yaml", "target": "app:large", "tags": ("nightly",)}),
)
"""Runs and what they are grouped by, the oldest first."""


@pytest.fixture
def grouped(store):
    for number, (run, fields) in enumerate(GROUPED):
        keep(
            store,
            a_run(run, created=f"2026-11-2{number}T10:15:00+00:00", **fields),
            [result(n) for n in (0, 1, number)],
        )
    return shown(store)


@pytest.mark.parametrize(
    ("group", "runs", "names"),
    [
        ("", "dcba", []),
        ("nonsense", "dcba", []),
        (
            "suite",
            "dacb",
            [
                "faq faq.yaml 2 runs, newest 33.3 % passed over time",
                "shop 1 run, newest 66.7 % passed over time",
                "faq large.yaml 1 run, newest 50.0 % passed over time",
            ],
        ),
        ("target", "dbca", ["app:large 2 runs, newest 33.3 % passed", "app:small 2 runs, newest 66.7 % passed"]),
        (
            "tags",
            "dacb",
            [
                "nightly 2 runs, newest 33.3 % passed",
                "nightly, eu 1 run, newest 66.7 % passed",
                "no tag 1 run, newest 50.0 % passed",
            ],
        ),
    ],
)
def test_runs_are_grouped_with_the_newest_figure_of_each_group(grouped, group, runs, names):
    text = page(grouped, f"/?group={group}")
    assert "".join(listed(text)) == runs
    assert headings(text) == names


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        pytest.param(
            "",
            [
                "2026-11-24 10:15 UTC · squares.jsonl · app:new",
                "2026-11-23 10:15 UTC · app:old",
                "2026-11-22 10:15 UTC · squares.jsonl · app:old",
                "2026-11-21 08:15 UTC",
            ],
            id="only what differs from the row above of the same suite",
        ),
        pytest.param(
            "?group=target",
            [
                "2026-11-24 10:15 UTC · squares.jsonl",
                "2026-11-23 10:15 UTC · squares.jsonl",
                "2026-11-22 10:15 UTC · squares.jsonl",
                "2026-11-21 08:15 UTC",
            ],
            id="what a group has in common stands in its head",
        ),
        pytest.param(
            "?columns=run&text=2026112",
            [
                "2026-11-24 10:15 UTC · app:new",
                "2026-11-23 10:15 UTC · app:old",
                "2026-11-22 10:15 UTC · app:old",
                "2026-11-21 08:15 UTC",
            ],
            id="no dataset without its column",
        ),
    ],
)
def test_a_row_of_the_list_says_what_differs_from_the_row_above(store, query, rows):
    for day, suite, target, clock in (
        ("21", "a.yaml", "app:old", "10:15:00+02:00"),
        ("22", "b.yaml", "app:old", "10:15:00Z"),
        ("23", "a.yaml", "app:old", "10:15:59+00:00"),
        ("24", "a.yaml", "app:new", "10:15:00Z"),
    ):
        run = a_run(f"202611{day}-a", created=f"2026-11-{day}T{clock}", suite=suite, target=target)
        keep(store, run, [result(1)])
    text = page(shown(store), f"/{query}")
    found = [words(one) for one in re.findall(r"<small>(<time.*?)</small>", text)]
    assert found == rows


@pytest.mark.parametrize(
    ("created", "said"),
    [
        pytest.param("2026-11-21T10:15:59Z", "2026-11-21 10:15 UTC", id="a time in UTC to the minute"),
        pytest.param("2026-11-21T00:15:00+02:00", "2026-11-20 22:15 UTC", id="a time of another zone in UTC"),
        pytest.param("2026-11-21T10:15:59", "2026-11-21 10:15:59", id="a time without a zone as it is"),
        pytest.param("last week", "last week", id="what is no time as it is"),
        pytest.param("", "time unknown", id="no time"),
    ],
)
def test_the_list_says_when_a_run_started(store, created, said):
    keep(store, a_run("a", created=created), [result(1)])
    (found,) = re.findall(r"<small>(<time.*?</time>)", page(shown(store), "/"))
    assert words(found) == said


def test_runs_are_grouped_by_the_models_under_test_not_by_their_judges():
    judge = Metric(name="correct", judge="large")
    runs = [
        a_run("a", target="app:bot", metrics=(judge,), spending=(Spending(model="small"), Spending(model="large"))),
        a_run("b", target="sort@large, sort@small", metrics=(judge,), spending=(Spending(model="large"),)),
        a_run("c", target="app:bot", metrics=(judge,), spending=(Spending(model="large"),)),
        a_run("d", target="app:bot", spending=(Spending(model="small"),)),
    ]
    groups = run_groups(runs, "model")
    assert [(group.name, [run.id for run in group.runs]) for group in groups] == [
        ("small", ["a", "d"]),
        ("large", ["b"]),
        ("", ["c"]),
    ]


def test_groups_go_along_with_a_search_pages_and_columns(grouped, monkeypatch):
    monkeypatch.setattr("evalmark.reports.viewer.runs_page.SIZE", 2)
    text = page(grouped, "/?group=target&text=faq&columns=run&columns=verdict&page=2")
    assert listed(text) == ["a"]
    assert headings(text) == ["app:small 1 run, newest 50.0 % passed"]
    (previous,) = re.findall(r'rel="prev" href="([^"]*)"', text)
    assert previous == "/?text=faq&amp;group=target&amp;columns=run&amp;columns=verdict&amp;page=1"
    first = page(grouped, previous.replace("&amp;", "&"))
    assert listed(first) == ["d", "b"]
    hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', first)
    assert hidden == [
        ("group", "target"),
        ("columns", "run"),
        ("columns", "verdict"),
        ("text", "faq"),
        ("group", "target"),
        ("columns", "run"),
    ]


@pytest.mark.parametrize(
    ("query", "heads"),
    [
        ("", ["Run started, UTC", "Trials", "Verdict", "Passed 95 % interval", "Since the previous run", "Cost time"]),
        ("?columns=run", ["Run started, UTC", "Passed 95 % interval"]),
        ("?columns=run&columns=time&columns=cost", ["Run started, UTC", "Passed 95 % interval", "Cost time"]),
        ("?columns=run&columns=time", ["Run started, UTC", "Passed 95 % interval", "Time"]),
        ("?columns=nonsense", ["Run started, UTC", "Passed 95 % interval"]),
    ],
)
def test_the_columns_of_the_list_are_those_of_the_address(grouped, query, heads):
    text = page(grouped, f"/{query}")
    table = text[text.index('<table class="runs') : text.index("</table>")]
    found = [words(one) for one in re.findall(r"<th scope=\"col\".*?</th>", table, re.DOTALL)]
    assert [one for one in found if one not in ("Compare", "Models")] == heads
    rows = re.findall(r"<tr data-id.*?</tr>", table, re.DOTALL)
    assert {len(re.findall("<t[dh]", row)) for row in rows} == {len(found)}


def test_groups_of_many_runs_read_their_headers_and_the_counts_of_a_page(app, crowded):
    text = asked(app, "/?group=suite&page=2").text
    assert len(listed(text)) == 25
    assert headings(text) == [f"squares {LATER + 2} runs over time"]
    assert crowded.runs_read <= 2 * (LATER + 2), "for the list, and for the changes since the runs before"
