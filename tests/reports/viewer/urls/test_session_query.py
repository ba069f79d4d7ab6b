"""What an address asks for, read leniently and written back."""

from dataclasses import replace
from datetime import date
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.reports.viewer.urls.paths import decode_name, decode_query_name, encode_name, encode_query_name
from evalmark.reports.viewer.urls.session_query import SESSION_LABELS, SessionQuery, parse_session_query
from evalmark.storage.sessions.filter import LABEL_STATES, SessionFilter

NAMES = st.text(max_size=100)
"""Half surrogate pairs among them, as apps may have recorded them."""


@given(NAMES)
def test_a_name_comes_out_of_an_address_as_it_went_in(name):
    assert decode_name(encode_name(name)) == name
    assert decode_query_name(encode_query_name(name)) == name


@given(project=NAMES, template=NAMES, labelled=st.sampled_from([None, *LABEL_STATES]), failed=st.booleans())
def test_what_is_asked_of_sessions_comes_back_from_the_address_that_says_it(project, template, labelled, failed):
    wanted = SessionFilter(project=project, template=template, labelled=labelled, failed=failed)
    wanted = replace(wanted, since=date(2026, 11, 20), until=date.max, seconds=(0.0, 1.5), cost=(None, 0.000012))
    asked = SessionQuery(conditions=wanted, below=7)
    said = dict(parse_qsl(asked.string().removeprefix("?"), errors="surrogatepass"))
    assert parse_session_query(said) == asked


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        pytest.param({"labelled": "up"}, SessionFilter(labelled="up"), id="a label"),
        pytest.param({"labelled": "perhaps"}, SessionFilter(), id="a label that there is not"),
        pytest.param({"failed": "yes"}, SessionFilter(), id="failed is said with a 1"),
        pytest.param({"text": "  bike "}, SessionFilter(text="bike"), id="blanks around a text do not count"),
        pytest.param({"text": "x" * 1_000}, SessionFilter(text="x" * 500), id="nobody types more than 500 characters"),
        pytest.param({"since": "yesterday", "until": "2026-02-30"}, SessionFilter(), id="days that there are not"),
        pytest.param({"seconds_from": "nan", "cost_to": "cheap"}, SessionFilter(), id="no numbers"),
        pytest.param({"project": "~?"}, SessionFilter(), id="a name of nothing"),
    ],
)
def test_what_makes_no_sense_is_left_out(said, wanted):
    assert parse_session_query(said).conditions == wanted


@pytest.mark.parametrize(
    ("said", "place"),
    [
        pytest.param({"below": "7"}, (7, None), id="older than a number"),
        pytest.param({"above": "7"}, (None, 7), id="newer than one"),
        pytest.param({"below": "7", "above": "9"}, (7, None), id="of both the first"),
        pytest.param({"below": "-7", "above": "9" * 30}, (None, None), id="no number that a store could count to"),
    ],
)
def test_a_page_of_sessions_begins_at_one_place(said, place):
    asked = parse_session_query(said)
    assert (asked.below, asked.above) == place


def test_a_form_has_a_word_for_every_way_of_being_labelled():
    assert set(SESSION_LABELS) == set(LABEL_STATES)
