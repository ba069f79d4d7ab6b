"""JSON read piece by piece gives what JSON read at once gives, whatever the pieces."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import DataError
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.json_stream import JsonStream

from .test_strict_json import json_data, outcome


def pieces(text, cuts):
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return iter([text[a:b] for a, b in pairwise(places)])


def items(text, cuts=()):
    stream = JsonStream(pieces(text, cuts), "x.json")
    found = list(stream.items())
    stream.finish()
    return found


@given(st.lists(json_data, max_size=6), st.lists(st.integers(0, 500), max_size=12), st.sampled_from([None, 2]))
def test_a_list_in_pieces_is_the_list(data, cuts, indent):
    assert [item.value for item in items(json.dumps(data, indent=indent), cuts)] == data


@given(st.dictionaries(st.text(max_size=6), json_data, max_size=5), st.lists(st.integers(0, 500), max_size=12))
def test_an_object_in_pieces_is_the_object(data, cuts):
    stream = JsonStream(pieces(json.dumps(data), cuts), "x.json")
    found = {key: stream.value() for key in stream.members()}
    stream.finish()
    assert found == data


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_refused_item_does_not_stop_the_next_wherever_the_text_is_cut(first, second):
    text = '[{"a": 1}, {"a": NaN}, {"b": 1, "b": 2},\n {"c": 1e999}, {"a": 2}]'
    found = items(text, (first, second))
    assert [isinstance(item.value, PlacedError) for item in found] == [False, True, True, True, False]
    assert [str(item.value).partition(" ")[0] for item in found[1:4]] == ["x.json:1:18:", "x.json:1:33:", "x.json:2:8:"]


def test_places_count_lines_and_name_a_column_only_where_lines_are_shared():
    found = items('[\n {"a": 1},\n {"a": 2}, {"a": 3}\n]', (3, 7, 12, 20))
    assert [(item.line, item.column) for item in found] == [(2, 0), (3, 0), (3, 12)]


def test_a_long_item_in_small_pieces():
    data = [{"text": "ä" * 300_000}, {"n": 1}]
    text = json.dumps(data)
    assert [item.value for item in items(text, range(0, len(text), 1000))] == data


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('[{"a": 1} {"a": 2}]', "x.json:1:11: not valid JSON: a comma or ']' was expected near", id="no comma"),
        pytest.param('[{"a": 1},\n]', "x.json:2:1: not valid JSON: there is a comma before ']'", id="a comma too many"),
        pytest.param('[{"a": 1},\n {"a"', "x.json:2:6: not valid JSON: the text ends too early", id="cut off in an item"),
        pytest.param('[{"a": 1}', "x.json:1:10: not valid JSON: a comma or ']' was expected; the text ends too early", id="cut off after an item"),
        pytest.param("[1, 2] 3", "x.json:1:8: not valid JSON: more text after the end", id="text after the end"),
        pytest.param('[{"a": tru}]', "x.json:1:8: not valid JSON", id="half a word"),
        pytest.param("[" * 100_000, "x.json:1:102: nested deeper than 100 levels", id="an item of 100,000 levels"),
        pytest.param("{}", "x.json:1:1: not valid JSON: a list was expected near '{}'", id="no list"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_broken_text_is_named_with_its_place_whatever_the_pieces(text, said, size):
    if size == 1 and len(text) > 1000:
        size = 100
    with pytest.raises(DataError) as error:
        items(text, range(0, len(text), size))
    assert said in str(error.value)


def test_a_key_twice_at_the_top_is_refused():
    stream = JsonStream(iter(['{"data": [1], "data": [2]}']), "x.json")
    with pytest.raises(DataError, match=r"x\.json:1:15: the key 'data' occurs a second time"):
        [stream.value() for _ in stream.members()]


@given(st.text(st.sampled_from('[]{}",:019.eE-tru\\ \nNaN')), st.lists(st.integers(0, 50), max_size=5))
def test_any_text_in_pieces_fails_with_a_place_or_is_what_it_is_at_once(text, cuts):
    found, error = outcome(lambda: [item.value for item in items(text, cuts)])
    if error:
        assert error.startswith("x.json:")
    elif not any(isinstance(value, PlacedError) for value in found):
        assert found == json.loads(text)
