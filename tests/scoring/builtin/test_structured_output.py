"""The fields of a JSON answer, held against what was expected."""

import dataclasses
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Example, Output, StructuredOutput
from evalmark.errors import ConfigError
from evalmark.scoring.binding.registry import resolve_scorer
from evalmark.scoring.matching.equality import ABSENT, Fuzzy

from .asking import ask
from .vectors import rationales, read_vectors, scored

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2), max_size=6)

GISTS = {
    "Valid JSON output (no expected fields specified)": "the output is JSON, and no field of it is expected",
    "All expected fields match": "expected field",
    "All expected fields match (plus extra fields: extra)": "others: extra",
    "Failed to parse output as JSON": "is not JSON",
    "Output contains error: Something went wrong": "reports an error: error: 'Something went wrong'",
    "Matched 1/3 fields": "1 of 3 fields matches",
    "Unexpected extra fields: extra": "1 unexpected field: extra",
    'name: expected "correct", got "wrong"': "name: expected 'correct', found 'wrong'",
    "value: expected 42, got 0": "value: expected 42, found 0",
    "flag: expected true, got false": "flag: expected true, found false",
}
"""What our reasons say where vitest-evals says this; for missing fields they name the same fields."""


def gist(said):
    if said in GISTS:
        return GISTS[said]
    return said.removeprefix("Missing required fields").removeprefix(": ") or " match: "


def test_all_golden_vectors_hold(shared):
    calls = read_vectors(shared, "structured_output")
    for name, settings, about, expect in calls:
        score = ask(StructuredOutput(**settings, expected=about["expected"]), about["output"])
        wanted = 1 if scored(expect) is None else scored(expect)  # the one call without a score only prints
        assert score.value == pytest.approx(wanted), (name, score)
        assert score.passed is (wanted == 1), (name, score)
        assert [said for said in rationales(expect) if gist(said) not in score.reason] == [], (name, score.reason)
    assert len(calls) == 30


@pytest.mark.parametrize(
    ("settings", "expected", "answer", "value", "reason"),
    [
        pytest.param({}, {"a": 1}, {"a": 1}, 1, "the expected field matches", id="data instead of text"),
        pytest.param({}, '{"a": 1}', '{"a": 1}', 1, "the expected field matches", id="text on both sides"),
        pytest.param({}, {"a": 1, "b": 2}, {"a": 1, "b": 2}, 1, "all 2 expected fields match", id="two fields"),
        pytest.param({}, {"a": 1}, {"a": 1, "b": 2}, 1, "matches, and there are others: b", id="one more"),
        pytest.param({}, {"a": 1}, {}, 0, "0 of 1 field match: a: expected 1, but it is missing", id="missing"),
        pytest.param(
            {}, {"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, 0, "a.b[1].c: expected 2, found 3", id="path"
        ),
        pytest.param(
            {"require_all": False}, {"a": 1, "b": 2}, {"a": 1}, 0.5, "1 of 2 fields matches: b:", id="a share"
        ),
        pytest.param(
            {"require_all": False, "allow_extras": False},
            {"a": 1, "b": 2},
            {"a": 1, "c": 2},
            0,
            "b: expected 2, but it is missing; 1 unexpected field: c",
            id="nothing for what must not be there",
        ),
        pytest.param({"allow_extras": False}, {}, {"a": 1}, 0, "1 unexpected field: a", id="exactly nothing"),
        pytest.param({"allow_extras": False}, {}, "{}", 1, "no field of it is expected", id="nothing, as expected"),
        pytest.param({}, {}, "[1]", 0, "not an object; expected fields are none", id="a list has no fields"),
        pytest.param({}, {"a": 1}, "42", 0, "the output 42 is not an object; expected fields are a", id="a number"),
        pytest.param({}, [1, 2], "[1, 2]", 1, "the output is the expected one", id="a list that is expected"),
        pytest.param({}, [1, 2], "[1, 3]", 0, "does not match: [1]: expected 2, found 3", id="a list that is not"),
        pytest.param({}, [1], {"0": 1}, 0, 'does not match: expected [1], found {"0": 1}', id="a list, not a mapping"),
        pytest.param({}, "null", "null", 1, "the output is the expected one", id="null that is expected"),
        pytest.param({}, {"a": 1}, None, 0, "there is no output", id="no answer"),
        pytest.param({}, {"a": 1}, "", 0, "is not JSON: expecting value", id="an empty text"),
        pytest.param({}, {"a": 1}, '```json\n{"a": 1}\n```', 0, "is not JSON", id="a fence is not JSON"),
        pytest.param({}, {"a": 1}, '{"a": NaN}', 0, "JSON has no NaN", id="NaN in text"),
        pytest.param({}, {"a": 1.0}, {"a": math.nan}, 0, "a: expected 1.0, found 'nan'", id="NaN in data"),
        pytest.param({}, {"a": 1}, "[" * 100_000, 0, "nested too deeply", id="a tower of brackets"),
        pytest.param({}, {"a": 1}, {"a": True}, 0, "a: expected 1, found true", id="true is no number"),
        pytest.param({}, {"a": 1}, {"a": 1, "error": "no"}, 0, "an error: error: 'no'", id="an error beside the data"),
        pytest.param({}, {"a": 1}, {"a": 1, "error": ""}, 1, "", id="no error: an empty text"),
        pytest.param({}, {"a": 1}, {"a": 1, "error": []}, 1, "", id="no error: an empty list"),
        pytest.param({}, {"error": "no"}, {"error": "no"}, 1, "", id="an error that is expected"),
        pytest.param(
            {"error_field": None}, {"a": 1}, {"a": 1, "error": "no"}, 1, "", id="error is a field like others"
        ),
        pytest.param(
            {"error_field": "fault"}, {"a": 1}, {"a": 1, "fault": {"code": 7}}, 0, '{"code": 7}', id="own field"
        ),
        pytest.param({"match": "fuzzy"}, {"a": ABSENT}, {"a": 1}, 0, "expected no such field, found 1", id="barred"),
        pytest.param(
            {"match": "fuzzy"},
            {"a": ["x", "y"]},
            {"a": ["Y", "X", "z"]},
            1,
            "the expected field matches",
            id="fuzzy lists",
        ),
        pytest.param(
            {"match": "fuzzy", "fuzzy": {"any_order": False}},
            {"a": ["x", "y"]},
            {"a": ["y", "x"]},
            0,
            "a[0]:",
            id="or not",
        ),
        pytest.param({"match": "fuzzy"}, re.compile("os"), '"in oslo"', 1, "", id="a pattern for the whole answer"),
        pytest.param(
            {"match": lambda expected, found, field: field == "a"},
            {"a": 1, "b": 2},
            {"a": 9, "b": 2},
            0,
            "b: expected 2, found 2",
            id="a function is told the field",
        ),
        pytest.param(
            {"match": lambda expected, found, field: True},
            {"a": 1},
            {},
            0,
            "but it is missing",
            id="not if it is missing",
        ),
    ],
)
def test_what_is_judged(settings, expected, answer, value, reason):
    for score in (
        ask(StructuredOutput(**settings, expected=expected), answer),
        ask(StructuredOutput(**settings), answer, expected=expected),
    ):
        assert (score.status, score.value, score.raw, score.passed) == ("scored", value, value, value == 1)
        assert reason in score.reason


@pytest.mark.parametrize(
    ("answer", "case", "status", "reason"),
    [
        pytest.param(
            '{"a": 1}',
            {},
            "unscored",
            "no expected answer; to check only that the output is JSON",
            id="nothing expected",
        ),
        pytest.param("{}", {"expected": "Oslo"}, "unscored", "is 'Oslo', and it is not JSON", id="no JSON expected"),
        pytest.param("{}", {"expected": {"a": math.nan}}, "unscored", "holds NaN, which nothing equals", id="NaN"),
        pytest.param(
            "oops", {}, "scored", "is not JSON", id="nothing expected, and no JSON: wrong whatever it should be"
        ),
        pytest.param({"error": "no"}, {}, "scored", "an error", id="nothing expected, and an error"),
    ],
)
def test_what_cannot_be_judged(answer, case, status, reason):
    score = ask(StructuredOutput(), answer, **case)
    assert score.status == status
    assert score.passed is (False if status == "scored" else None)
    assert reason in score.reason


def test_the_liked_example_that_is_closest_counts():
    examples = (Example(value={"a": 2, "b": 1}), Example(value={"a": 3}, liked=False))
    case = {"expected": {"a": 1}, "examples": examples}
    assert ask(StructuredOutput(), {"a": 2, "b": 1}, **case).passed
    assert ask(StructuredOutput(require_all=False), {"a": 2}, **case).value == 0.5
    assert not ask(StructuredOutput(), {"a": 3}, **case).passed


def test_the_detail_is_plain_data():
    expected = {"a": 1, "b": lambda value: False, "c": re.compile("x"), "d": ABSENT, "e": 5}
    score = ask(StructuredOutput(expected=expected, match="fuzzy"), {"a": 1, "b": 2, "d": 4, "z": [math.nan]})
    assert json.loads(json.dumps(score.detail)) == {
        "matched": 1,
        "total": 5,
        "mismatches": [
            {"field": "b", "expected": "what a function accepts", "found": 2},
            {"field": "c", "expected": "a text with 'x' in it"},
            {"field": "d", "expected": "no such field", "found": 4},
            {"field": "e", "expected": 5},
        ],
        "extras": ["z"],
    }


def test_objects_of_any_kind_are_compared_by_their_fields():
    @dataclasses.dataclass
    class Town:
        name: str

    assert ask(StructuredOutput(expected={"name": "Oslo"}), Town("Oslo")).passed
    assert ask(StructuredOutput(expected=Town("Oslo")), '{"name": "Oslo"}').passed


def test_a_pattern_that_takes_for_ever_is_an_error_and_not_a_hang():
    scorer = StructuredOutput(expected={"a": re.compile("(a|aa)+$")}, match="fuzzy")
    score = ask(scorer, {"a": "a" * 60 + "b"})
    assert score.status == "error"
    assert "took longer than 1 s" in score.reason


def test_a_threshold_decides_over_a_share():
    scorer = StructuredOutput(expected={"a": 1, "b": 2}, require_all=False)
    assert ask(scorer, {"a": 1}, threshold=0.5).passed is True
    assert ask(scorer, {"a": 1}, threshold=0.6).passed is False


async def waits(value):
    return True


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        pytest.param({"match": "exact"}, "`match` is 'exact'; it takes 'strict', 'fuzzy' or a function", id="a word"),
        pytest.param({"match": int}, "`match` is .*int.*; it takes", id="a class"),
        pytest.param({"match": waits}, "`match` is an async function", id="a coroutine would always be true"),
        pytest.param({"fuzzy": {}}, "set `match: fuzzy` too", id="options without a use"),
        pytest.param({"match": "fuzzy", "fuzzy": {"tolerence": 1}}, "Did you mean 'tolerance'", id="a misspelt option"),
        pytest.param({"expected": "{"}, "`expected` is '{', and it is not JSON", id="no JSON"),
        pytest.param({"expected": {"a": math.nan}}, "NaN, which nothing equals", id="NaN"),
        pytest.param({"expected": {"a": len}}, "set `match: fuzzy` to use it", id="a rule that is not asked"),
        pytest.param({"expected": {"a": waits}, "match": "fuzzy"}, "an async function", id="a rule that would wait"),
    ],
)
def test_wrong_settings_are_refused(settings, told):
    with pytest.raises(ConfigError, match=told):
        StructuredOutput(**settings)


def test_a_suite_names_it_with_settings():
    settings = {"expected": {"a": "x"}, "match": "fuzzy", "fuzzy": {"ignore_case": True}, "error_field": None}
    scorer = resolve_scorer("structured_output", settings)
    assert scorer == StructuredOutput(**settings)
    assert ask(scorer, {"a": "X"}).passed
    assert ask(resolve_scorer("not-structured_output", {"expected": {"a": 1}}), {"a": 2}).passed
    assert ask(StructuredOutput(expected={"a": "x"}, match="fuzzy", fuzzy=Fuzzy()), {"a": "X"}).passed


@given(JSON)
def test_data_and_its_text_match_themselves(value):
    text = json.dumps(value)
    assert ask(StructuredOutput(error_field=None), text, expected=text).value == 1
    assert ask(StructuredOutput(match="fuzzy", error_field=None), text, expected=text).value == 1


@given(JSON, JSON, st.booleans(), st.booleans(), st.sampled_from(["strict", "fuzzy"]))
def test_every_value_is_a_share(expected, answer, require_all, allow_extras, match):
    scorer = StructuredOutput(require_all=require_all, allow_extras=allow_extras, match=match)
    score = ask(scorer, json.dumps(answer), expected=json.dumps(expected))
    assert 0 <= score.value <= 1
    assert score.passed is (score.value == 1)
    assert score.reason


@given(FIELDS.filter(bool), FIELDS)
def test_a_share_is_that_of_the_fields_that_match(expected, answer):
    matched = sum(answer.get(key) == value for key, value in expected.items())
    score = ask(StructuredOutput(expected=expected, require_all=False), Output(value=answer))
    assert score.value == pytest.approx(matched / len(expected))
    assert (score.detail["matched"], score.detail["total"]) == (matched, len(expected))
