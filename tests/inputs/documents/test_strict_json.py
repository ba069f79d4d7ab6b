"""What strict JSON takes, what it refuses, and that it says where."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import DataError
from evalmark.inputs.documents.strict_json import parse_json

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text(st.characters(codec=None))
json_data = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def outcome(read):
    """What a reader gives, or the text of its error."""
    try:
        return read(), ""
    except DataError as error:
        return None, str(error)


@given(json_data, st.sampled_from([None, 1]), st.booleans())
def test_valid_json_means_what_the_standard_library_says(data, indent, ascii_only):
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    assert parse_json(text, "x.json") == json.loads(text) == data


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('{"a": 1,\n "b": 2,\n "a": 3}', ":3:2: the key $.a occurs a second time; the first one is in line 1.", id="a key twice"),
        pytest.param('{"r": [{"x": 1, "x": 1}]}', ":1:17: the key $.r[0].x occurs a second time", id="a key twice in a nested object"),
        pytest.param('{"a": 1, "\\u0061": 2}', ":1:10: the key $.a occurs", id="a key twice, once escaped"),
        pytest.param('[1,\n NaN]', ":2:2: NaN at $[1] is not valid JSON", id="NaN"),
        pytest.param('{"a": Infinity}', ":1:7: Infinity at $.a", id="infinity"),
        pytest.param('{"a": -Infinity}', ":1:7: -Infinity at $.a", id="minus infinity"),
        pytest.param("[1e400]", ":1:2: 1e400 at $[0] is too large", id="a number that would become infinite"),
        pytest.param("[-1e400]", ":1:2: -1e400 at $[0] is too large", id="a number that would become minus infinite"),
        pytest.param('["NaN", 1' + "0" * 5000 + "]", ":1:9: the number at $[1] has 5001 digits", id="a whole number of 5,001 digits"),
        pytest.param("[" * 101 + "]" * 101, ":1:101: nested deeper than 100 levels", id="101 levels"),
        pytest.param("[" * 100_000 + "]" * 100_000, ":1:101: nested deeper than 100 levels", id="100,000 levels, closed"),
        pytest.param('{"a":' * 100_000, ":1:501: nested deeper than 100 levels", id="100,000 levels, never closed"),
        pytest.param("[1, 2,]", "not valid JSON", id="a comma too many"),
        pytest.param("{'a': 1}", ":1:2: not valid JSON", id="single quotes"),
        pytest.param("[1] [2]", ":1:5: more text after the end of the JSON value near '[2]'", id="two values"),
        pytest.param("", ":1:1: not valid JSON: the text ends too early", id="nothing"),
        pytest.param('["a\nb"]', "not valid JSON: invalid control character", id="a raw line break in a text"),
        pytest.param('["\\x41"]', "not valid JSON: invalid \\escape", id="an escape that JSON has not"),
        pytest.param("[01]", "not valid JSON", id="a leading zero"),
        pytest.param("[1.]", "not valid JSON", id="a number that ends in a dot"),
        pytest.param("[0x10]", "not valid JSON", id="a hexadecimal number"),
        pytest.param("// no\n[1]", ":1:1: not valid JSON", id="a comment"),
        pytest.param("\u00a0[1]", ":1:1: not valid JSON", id="white space that JSON does not know"),
        pytest.param("[tru]", ":1:2: not valid JSON", id="half a word"),
        pytest.param('["abc', ":1:2: not valid JSON: unterminated string", id="a text that never ends"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named_with_its_place(text, said):
    with pytest.raises(DataError) as error:
        parse_json(text, "x.json")
    assert said in str(error.value)
    assert str(error.value).startswith("x.json:")
    assert len(str(error.value)) < 300


def test_one_hundred_levels_are_read():
    assert parse_json("[" * 100 + "]" * 100, "x.json")


def test_brackets_inside_texts_are_no_levels():
    assert parse_json(json.dumps(["[" * 500]), "x.json") == ["[" * 500]


def test_many_brackets_side_by_side_are_no_levels():
    assert len(parse_json("[" + ",".join(["[{}]"] * 500) + "]", "x.json")) == 500


@pytest.mark.parametrize("text", ['"\\ud800"', '"a\\udfff b"', '{"\\ud834": "\\ud834\\udd1e"}'])
def test_lone_surrogates_survive(text):
    data = parse_json(text, "x.json")
    assert data == json.loads(text)
    assert json.loads(json.dumps(data)) == data


def test_numbers_keep_their_value_and_their_kind():
    assert parse_json("[9007199254740993, 1.0, -0.0, 1e2, 5e-324, 1e-400]", "x") == [
        9007199254740993,
        1.0,
        -0.0,
        100.0,
        5e-324,
        0.0,
    ]
    assert isinstance(parse_json("1.0", "x"), float)
    assert math.copysign(1, parse_json("-0.0", "x")) == -1


def test_the_first_line_of_a_piece_of_a_file_can_be_said():
    with pytest.raises(DataError, match=r"^x\.jsonl:41:8: "):
        parse_json('{"a":1 "b":2}', "x.jsonl", 41)


@given(st.text(st.sampled_from('[]{}",:0123456789.eE+-truefalsn\\u \n\tNaIity')))
def test_any_text_is_read_like_the_standard_library_or_refused_with_a_place(text):
    found, error = outcome(lambda: parse_json(text, "x.json"))
    assert error.startswith("x.json:") if error else found == json.loads(text)
