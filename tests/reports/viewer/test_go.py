"""Destinations by name: the page that lists them, and the dialog over any page that shows the same list."""

import re

import pytest

from evalmark.reports.viewer.go_page import Destination, matching
from evalmark.reports.viewer.urls.paths import run_path

from .conftest import shown
from .test_pages import page, words

RUN = "20261121-101500-3f9a"
PAGE = run_path(RUN)


def titles(text):
    return re.findall(r'<span class="to"><bdi>([^<]*)', text)


def test_without_words_the_list_has_pages_suites_metrics_and_runs(app):
    found = titles(page(app, "/go"))
    assert found[:4] == ["Runs", "Trends", "Label", "Sessions"]
    assert found[-4:] == ["squares", "similarity", "correct", "squares"], "a suite, its metrics, and a run"
    assert '<span class="to"><bdi>squares</bdi></span> <small><bdi>over time</bdi></small>' in page(app, "/go")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("q=SIMIL", ["similarity"], id="part of a metric's name, in any case"),
        pytest.param("q=run+app%3Aanswer", ["squares"], id="a kind and a target"),
        pytest.param("q=trends", ["Trends"], id="a page"),
        pytest.param("q=unheard-of", [], id="nothing"),
        pytest.param(f"q=failed&at={PAGE}", ["Failed cases of this run"], id="what concerns the run of a page"),
        pytest.param("q=failed&at=/runs/gone", [], id="a page of a run that was deleted"),
        pytest.param("q=failed&at=//example.org/runs/x", [], id="a path that is none of the viewer"),
    ],
)
def test_words_select_what_has_all_of_them(app, query, found):
    assert titles(page(app, f"/go?{query}")) == found


def test_names_that_have_the_words_come_before_notes_that_have_them(app):
    found = titles(page(app, "/go?q=squares"))
    assert found == ["squares", "squares", "similarity", "correct"], "a metric is of squares, and not called so"


def test_a_run_is_found_by_its_id_and_a_list_that_is_cut_says_so(app):
    text = page(app, f"/go?q={RUN}")
    assert titles(text) == ["squares"]
    assert "More match" not in text
    many = [Destination(kind="run", title=f"run {n}", href=f"/runs/{n}") for n in range(9)]
    listed, has_more = matching(many, "run")
    assert (len(listed), has_more) == (8, True)


def test_every_destination_is_a_page(app):
    text = page(app, f"/go?at={PAGE}/charts")
    addresses = re.findall(r'<li><a href="([^"]*)"(?! download)', text.partition("destinations")[2])
    assert len(addresses) > 5
    for href in addresses:
        page(app, href.replace("&amp;", "&").partition("#")[0])


def test_nothing_found_offers_the_search_of_all_runs(app):
    text = page(app, "/go?q=unheard-of")
    assert "Nothing matches these words." in words(text)
    assert 'href="/?text=unheard-of"' in text


def test_an_empty_store_teaches_what_to_type_and_waits_for_the_first_run(store):
    text = page(shown(store), "/")
    assert "evalmark init" in words(text)
    assert "evalmark run" in words(text)
    assert 'data-pending="first"' in text
    assert "<input" not in text.partition("<main")[2].partition("</main>")[0]
