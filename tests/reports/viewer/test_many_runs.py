"""A store of many runs: a page reads as many headers of them as it shows, and a run of long ago is held against one before it."""

import re
from contextlib import closing
from dataclasses import replace

import pytest

from evalmark.reports.viewer.app import starlette_app
from evalmark.reports.viewer.background import BackgroundFigures
from evalmark.reports.viewer.compare_page import MOST_RUNS
from evalmark.reports.viewer.page_context import PageContext
from evalmark.reports.viewer.store_view import StoreView
from evalmark.storage.database.schema import transaction
from evalmark.storage.database.sqlite import open_writable_file
from evalmark.storage.queries.filter import ResultFilter
from evalmark.storage.results.stored_runs import encode_run
from evalmark.store import open_store

from .conftest import POLICY, a_run, asked, keep, result
from .test_compare import NEW, OLD, later

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
            db.executemany(
                "insert into run (id, plan, suite, status, pass, header) values (?, ?, ?, 'complete', 1, ?)",
                (
                    (f"later-{n}", newest.plan, newest.suite, encode_run(replace(newest, id=f"later-{n}")))
                    for n in range(LATER)
                ),
            )
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
