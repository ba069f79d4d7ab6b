"""Which outputs an address asks to label, read leniently and written back."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.reports.viewer.urls.label_queue_query import LabelQueueQuery, parse_label_queue_query
from evalmark.tracing.annotations.queue import MAX_ITEMS

NAMES = st.text(min_size=1, max_size=50)
WORDS = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=50)


@given(name=NAMES, is_run=st.booleans(), n=st.integers(0, MAX_ITEMS), seed=WORDS, tag=WORDS, instructions=WORDS)
def test_what_is_asked_comes_back_from_the_address_that_says_it(name, is_run, n, seed, tag, instructions):
    run, project = (name, "") if is_run else ("", name)
    asked = LabelQueueQuery(
        run=run, project=project, n=n, seed=seed, tag=tag if is_run else "", instructions=instructions
    )
    assert parse_label_queue_query(dict(parse_qsl(asked.string().removeprefix("?")))) == asked


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        pytest.param({}, LabelQueueQuery(), id="nothing"),
        pytest.param(
            {"what": "run:a", "verdict": "fail"}, LabelQueueQuery(run="a", verdict="fail"), id="a verdict of a run"
        ),
        pytest.param({"what": "run:a", "verdict": "bad"}, LabelQueueQuery(run="a"), id="a verdict that there is not"),
        pytest.param(
            {"what": "project:a", "verdict": "fail", "tag": "t"}, LabelQueueQuery(project="a"), id="not of recordings"
        ),
        pytest.param({"what": "suite:a"}, LabelQueueQuery(), id="a kind that there is not"),
        pytest.param({"what": "run:~?"}, LabelQueueQuery(), id="a name of nothing"),
        pytest.param(
            {"what": "run:a", "n": "9" * 20}, LabelQueueQuery(run="a", n=MAX_ITEMS), id="more than anybody labels"
        ),
        pytest.param(
            {"what": "run:a", "instructions": " Is it\r\npolite? "},
            LabelQueueQuery(run="a", instructions="Is it\npolite?"),
            id="line ends of a form",
        ),
        pytest.param({"what": "run:a", "at": "-1"}, LabelQueueQuery(run="a"), id="a place that there is not"),
    ],
)
def test_what_makes_no_sense_is_left_out(said, asked):
    assert parse_label_queue_query(said) == asked


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        pytest.param(LabelQueueQuery(run="a"), "run:a", id="a run"),
        pytest.param(LabelQueueQuery(project="a b"), "project:~YSBi", id="a project with a blank in its name"),
        pytest.param(LabelQueueQuery(), "", id="neither"),
    ],
)
def test_a_form_names_what_is_labelled(asked, what):
    assert asked.what == what
