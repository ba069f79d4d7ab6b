"""The checks, a row a rule."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Example, Output
from evalmark.errors import ConfigError
from evalmark.scorers import Contains, Equals, IsJson, JsonSchema, Length, Numeric, Regex, Time
from evalmark.scoring.matching.numbers import numbers_in

from .asking import ask

LIKED = (Example(value="Kristiania"), Example(value="Bergen", liked=False))


@pytest.mark.parametrize(
    ("scorer", "answer", "case", "passed", "reason"),
    [
        pytest.param(Equals(), "Oslo", {"expected": "Oslo"}, True, "the output is 'Oslo'", id="equal"),
        pytest.param(
            Equals(), "oslo", {"expected": "Oslo"}, False, "the output 'oslo' is not 'Oslo'", id="case counts"
        ),
        pytest.param(Equals(ignore_case=True), "STRASSE", {"expected": "Straße"}, True, "", id="case need not count"),
        pytest.param(Equals(), "Oslo ", {"expected": "Oslo"}, False, "'Oslo ' is not 'Oslo'", id="blanks count"),
        pytest.param(Equals(strip=True), "Oslo\n", {"expected": " Oslo"}, True, "", id="blanks need not count"),
        pytest.param(Equals(), "Kristiania", {"expected": "Oslo", "examples": LIKED}, True, "", id="any liked answer"),
        pytest.param(
            Equals(),
            "Bergen",
            {"expected": "Oslo", "examples": LIKED},
            False,
            "the output 'Bergen' is not 'Oslo' nor any of 1 other liked answer",
            id="a disliked answer is no expected one",
        ),
        pytest.param(Equals(), None, {"expected": "Oslo"}, False, "the output nothing is not 'Oslo'", id="no answer"),
        pytest.param(Equals(), 42, {"expected": "42"}, False, "the output 42 is not '42'", id="a number is not a text"),
        pytest.param(Equals(), 1, {"expected": 1.0}, True, "", id="1 and 1.0 are one number"),
        pytest.param(Equals(), True, {"expected": 1}, False, "", id="true is no number"),
        pytest.param(Equals(), {"b": [1.0], "a": 2}, {"expected": {"a": 2, "b": [1]}}, True, "", id="data, any order"),
        pytest.param(Equals(), ("a",), {"expected": ["a"]}, True, "", id="a tuple is a list"),
        pytest.param(Equals(), False, {"expected": False}, True, "", id="false can be expected"),
        pytest.param(
            Equals(), "e\u0301", {"expected": "\xe9"}, False, "they look alike but are encoded differently", id="NFC"
        ),
        pytest.param(Equals(), "\ud800", {"expected": "\ud800"}, True, "'\\ud800'", id="half a surrogate pair"),
        pytest.param(
            Contains(), "It is Oslo.", {"expected": "Oslo"}, True, "contains 'Oslo'", id="the expected answer"
        ),
        pytest.param(Contains(any="a"), "xa", {}, True, "", id="one text"),
        pytest.param(Contains(any=["a", "b"]), "b", {}, True, "contains 'b'", id="one of two"),
        pytest.param(
            Contains(any=["a", "b"]), "c", {}, False, "none of 'a' and 'b' is in the output 'c'", id="none of two"
        ),
        pytest.param(Contains(all=["a", "b"]), "ab", {}, True, "contains 'a' and 'b'", id="both"),
        pytest.param(Contains(all=["a", "b"]), "a", {}, False, "'b' is not in the output", id="one is missing"),
        pytest.param(Contains(all=["a"], any=["x", "y"]), "ay", {}, True, "", id="all and any"),
        pytest.param(Contains(all=["a"], any=["x", "y"]), "a", {}, False, "none of 'x' and 'y'", id="all but not any"),
        pytest.param(Contains(any="OSLO"), "oslo", {}, False, "", id="contains: case counts"),
        pytest.param(Contains(any="OSLO", ignore_case=True), "oslo", {}, True, "", id="contains: or not"),
        pytest.param(Contains(any="a"), None, {}, False, "'a' is not in the output nothing", id="contains: no answer"),
        pytest.param(Contains(any="Oslo"), {"city": "Oslo"}, {}, True, "", id="data is searched as JSON text"),
        pytest.param(Regex(r"\d+"), "a 12", {}, True, "matches '\\\\d+' at '12'", id="a pattern inside"),
        pytest.param(Regex(r"\d+"), "a", {}, False, "the output 'a' does not match '\\\\d+'", id="a pattern not found"),
        pytest.param(Regex(r"\d+", full=True), "a 12", {}, False, "", id="the whole answer"),
        pytest.param(Regex("oslo", ignore_case=True), "OSLO", {}, True, "", id="regex: any case"),
        pytest.param(IsJson(), '{"a": [1, null]}', {}, True, "", id="JSON text"),
        pytest.param(IsJson(), "{'a': 1}", {}, False, "expecting property name enclosed", id="Python is no JSON"),
        pytest.param(IsJson(), "[NaN]", {}, False, "JSON has no NaN", id="JSON has no NaN"),
        pytest.param(IsJson(), "", {}, False, "expecting value, line 1 column 1", id="an empty text"),
        pytest.param(IsJson(), "[" * 100_000, {}, False, "nested too deeply", id="a tower of brackets"),
        pytest.param(IsJson(), "9" * 5_000, {}, False, "is not JSON", id="a number of 5,000 digits"),
        pytest.param(IsJson(), {"a": 1}, {}, True, "", id="data is JSON already"),
        pytest.param(IsJson(), None, {}, False, "there is no output", id="is_json: no answer"),
        pytest.param(Length(max_chars=3), "abc", {}, True, "has 3 characters and 1 word", id="as long as allowed"),
        pytest.param(Length(max_chars=3), "abcd", {}, False, "has 4 characters, more than 3", id="too long"),
        pytest.param(Length(min_words=2), "abcd", {}, False, "has 1 word, fewer than 2", id="too few words"),
        pytest.param(
            Length(min_words=3, max_chars=2), "a b", {}, False, "more than 2 and 2 words, fewer than 3", id="two faults"
        ),
        pytest.param(Length(max_chars=0), None, {}, True, "", id="no answer has no length"),
        pytest.param(Time(2), Output(value="a", seconds=2.0), {}, True, "took 2 s, and 2 s are", id="just in time"),
        pytest.param(Time(2), Output(value="a", seconds=2.1), {}, False, "took 2.1 s", id="too late"),
    ],
)
def test_a_check_passes_or_fails_and_says_why(scorer, answer, case, passed, reason):
    score = ask(scorer, answer, **case)
    assert (score.status, score.passed, score.raw, score.value) == ("scored", passed, passed, float(passed))
    assert reason in score.reason
    assert len(score.reason) < 400
    assert "\n" not in score.reason


@pytest.mark.parametrize(
    ("scorer", "answer", "case", "reason"),
    [
        pytest.param(Equals(), "a", {}, "the case has no expected answer", id="equals without expected"),
        pytest.param(Contains(), "a", {}, "the case has no expected answer", id="contains without anything"),
        pytest.param(Contains(), "a", {"expected": ""}, "the case has no expected answer", id="contains nothing"),
        pytest.param(Numeric(), "1", {}, "the case has no expected answer", id="numeric without expected"),
        pytest.param(Numeric(), "1", {"expected": "one"}, "'one' is not one number", id="an expected word"),
        pytest.param(Numeric(anywhere=True), "1", {"expected": "1 or 2"}, "not one number", id="two expected numbers"),
        pytest.param(Time(1), "a", {}, "the output has no time", id="a given answer"),
    ],
)
def test_what_cannot_be_judged_is_unscored(scorer, answer, case, reason):
    score = ask(scorer, answer, **case)
    assert (score.status, score.value, score.passed) == ("unscored", None, None)
    assert reason in score.reason


@pytest.mark.parametrize(
    ("settings", "expected", "answer", "passed"),
    [
        pytest.param({}, "42", "42", True, id="the same"),
        pytest.param({}, 42, "42.0", True, id="a text and a number"),
        pytest.param({}, "1,234.5", 1234.5, True, id="a thousands separator"),
        pytest.param({}, "-3", "\u22123", True, id="a proper minus sign"),
        pytest.param({}, "1e3", " 1000 ", True, id="an exponent"),
        pytest.param({}, "0.3", 0.1 + 0.2, True, id="rounding of floats does not count"),
        pytest.param({}, "42", "43", False, id="another number"),
        pytest.param({"abs": 1}, "42", "43", True, id="within the tolerance"),
        pytest.param({"abs": 1}, "42", "43.5", False, id="beyond the tolerance"),
        pytest.param({"rel": 0.1}, "100", "110", True, id="within a share"),
        pytest.param({"rel": 0.1}, "100", "111", False, id="beyond a share"),
        pytest.param({}, "20", "$20", False, id="an amount is not a bare number"),
        pytest.param({}, "20", "20 or so", False, id="text around a number"),
        pytest.param({"anywhere": True}, "20", "It costs $20.", True, id="a number inside a text"),
        pytest.param({"anywhere": True}, "$20", "$20", True, id="an expected amount"),
        pytest.param({"anywhere": True}, "$20", "$200", False, id="no part of a longer number"),
        pytest.param({"anywhere": True}, "20", "$20.50", False, id="no part of a decimal number"),
        pytest.param({"anywhere": True}, "20", "1,020", False, id="no part of a number with separators"),
        pytest.param({"anywhere": True}, "5", "on 2024-05-01", False, id="no part of a date"),
        pytest.param({"anywhere": True}, "2", "GPT2 says 3", False, id="no part of a name"),
        pytest.param({"anywhere": True}, "-5", "-5 degrees", True, id="a negative number"),
        pytest.param({"anywhere": True}, "3", "first 2, then 3", True, id="one of several"),
        pytest.param({"anywhere": True}, "3", "none", False, id="no number at all"),
        pytest.param({}, "1", True, False, id="true is not 1"),
        pytest.param({}, "1", "nan", False, id="nan is no number"),
        pytest.param({"abs": 1e300}, "1", "1e999", False, id="infinity is no number"),
        pytest.param({}, "1", None, False, id="no answer"),
        pytest.param({}, 10**400, "1", None, id="an expected number that no float holds"),
    ],
)
def test_numbers_are_compared_as_wholes(settings, expected, answer, passed):
    assert ask(Numeric(**settings), answer, expected=expected).passed is passed


def test_the_reason_of_a_number_shows_both_sides():
    score = ask(Numeric(abs=0.5, anywhere=True), "I paid 21 of 30.", expected="20")
    assert score.reason == "the output 21 is 1 off 20, and 0.5 is allowed (the nearest of 2 numbers)"
    assert score.detail == {"found": 21.0, "expected": 20.0}


@given(st.lists(st.floats(-1e12, 1e12).map(lambda x: round(x, 3)), max_size=5))
def test_every_number_of_a_text_is_found_whole(numbers):
    text = "; ".join(f"${number!r} each" if number >= 0 else f"{number!r} each" for number in numbers)
    assert numbers_in(text) == numbers


@given(st.text())
def test_no_text_breaks_the_search_for_numbers(text):
    assert all(math.isfinite(number) for number in numbers_in(text))


@given(st.text(alphabet="abc.*+?()[]|^$\\ d1", max_size=12), st.text(alphabet="abc1 ", max_size=12))
def test_patterns_mean_what_they_mean_in_python(pattern, text):
    try:
        wanted = re.search(pattern, text) is not None
    except (re.error, FutureWarning):  # the warning is of a syntax that will change
        return
    if not pattern:
        return
    try:
        scorer = Regex(pattern)
    except ConfigError:
        return
    assert ask(scorer, text).passed is wanted


def test_a_pattern_that_takes_too_long_is_an_error_that_names_it():
    score = ask(Regex("^(a|aa)+$", seconds=0.05), "a" * 60 + "b")
    assert (score.status, score.passed, score.value) == ("error", None, None)
    assert score.reason.startswith("the pattern '^(a|aa)+$' took longer than 0.05 s on an answer of 61 characters")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda: Regex("("), r"regex: the pattern '\(' cannot be read: missing \)", id="a bad pattern"),
        pytest.param(lambda: Regex(""), "regex: the pattern is empty", id="an empty pattern"),
        pytest.param(lambda: Regex("a", seconds=0), "regex: `seconds` is 0", id="no time"),
        pytest.param(lambda: Contains(any=["a", ""]), "contains: `any` holds an empty text", id="an empty text"),
        pytest.param(lambda: Contains(all=[1]), "contains: `all` holds", id="no text"),
        pytest.param(lambda: Length(), "length: name at least one of", id="no limit"),
        pytest.param(lambda: Length(min_words=3, max_words=2), "at least 3 and at most 2", id="limits that cross"),
        pytest.param(lambda: Length(max_chars=-1), "length: a limit is below 0", id="a negative limit"),
        pytest.param(lambda: Time(0), "time: `seconds` is 0", id="time: no time"),
        pytest.param(lambda: Time(math.nan), "time: `seconds` is nan", id="time: nan"),
        pytest.param(lambda: Numeric(abs=-1), "numeric: `abs` is -1", id="a negative tolerance"),
        pytest.param(lambda: Numeric(rel=math.inf), "numeric: `rel` is inf", id="an endless tolerance"),
        pytest.param(lambda: JsonSchema({"type": "strin"}), r"the schema is invalid at \$.type", id="a bad schema"),
        pytest.param(lambda: JsonSchema(["a"]), "a schema is a mapping, found", id="no schema"),
        pytest.param(
            lambda: JsonSchema({"properties": {"a": {"$ref": "https://example.org/a.json#/b"}}}),
            "lies outside the schema and is not fetched",
            id="a schema elsewhere",
        ),
    ],
)
def test_settings_that_cannot_be_right_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


CITY = {
    "type": "object",
    "properties": {"city": {"$ref": "#/$defs/name"}, "people": {"type": "integer", "minimum": 0}},
    "patternProperties": {"^x_": {"type": "string"}},
    "required": ["city"],
    "$defs": {"name": {"type": "string", "pattern": "^[A-ZÆØÅ]"}},
}


@pytest.mark.parametrize(
    ("answer", "passed", "reason"),
    [
        pytest.param('{"city": "Oslo"}', True, "fits the schema", id="it fits"),
        pytest.param({"city": "Oslo", "people": 700_000}, True, "", id="data fits too"),
        pytest.param('{"people": 1}', False, "at $: 'city' is a required property", id="a part is missing"),
        pytest.param('{"city": "oslo"}', False, "at $.city: 'oslo' does not match '^[A-ZÆØÅ]'", id="a pattern"),
        pytest.param('{"city": "Oslo", "people": -1}', False, "at $.people: -1 is less than", id="a minimum"),
        pytest.param('{"city": "Oslo", "x_a": 1}', False, "at $.x_a: 1 is not of type", id="a name's pattern"),
        pytest.param("Oslo", False, "is not JSON: expecting value", id="no JSON"),
    ],
)
def test_an_answer_fits_its_schema_or_the_reason_names_the_place(answer, passed, reason):
    score = ask(JsonSchema(CITY), answer)
    assert score.passed is passed
    assert reason in score.reason


def test_the_detail_lists_what_does_not_fit():
    score = ask(JsonSchema(CITY), {"city": 1, "people": -1})
    assert {error["path"] for error in score.detail["errors"]} == {"$.city", "$.people"}
    assert score.detail["error_count"] == 2


def test_a_large_answer_does_not_swell_the_reason():
    score = ask(JsonSchema({"type": "object"}), json.dumps(["x" * 1000] * 100))
    assert score.passed is False
    assert len(score.reason) < 400


def test_a_pattern_in_a_schema_cannot_hang():
    score = ask(JsonSchema({"pattern": "^(a|aa)+$"}), json.dumps("a" * 60 + "b"))
    assert score.status == "error"
    assert "its pattern '^(a|aa)+$' took longer than 1 s" in score.reason


def test_an_unresolvable_reference_is_an_error_of_the_score():
    schema = {"$id": "https://example.org/a", "properties": {"a": {"$ref": "b"}}}
    score = ask(JsonSchema(schema), {"a": 1})
    assert score.status == "error"
    assert "the schema cannot be applied" in score.reason


def test_a_schema_can_lie_in_a_file(tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(CITY), encoding="utf-8-sig")
    assert ask(JsonSchema(tmp_path / "schema.json"), {"city": "Oslo"}).passed is True
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"broken\.json is not JSON"):
        JsonSchema(tmp_path / "broken.json")
    with pytest.raises(ConfigError, match=r"none\.json cannot be read: No such file"):
        JsonSchema(tmp_path / "none.json")


def test_long_answers_are_shown_where_they_part():
    long = "a" * 500
    score = ask(Equals(), long + "b", expected=long + "c")
    assert "ab" in score.reason
    assert "ac" in score.reason
    assert len(score.reason) < 300
