"""The tools that were called, held against those that were expected."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Output, ToolCall, ToolCalls
from evalmark.errors import ConfigError
from evalmark.inputs.datasets.reader import read_cases
from evalmark.scoring.binding.registry import resolve_scorer
from evalmark.scoring.matching.equality import Fuzzy

from .asking import ask
from .vectors import rationales, read_vectors, scored

EXCEPTIONS = {
    "ToolCallScorer > edge cases > handles empty expectations": (
        "an empty list could not be told from none, so that no one could ask that nothing is called",
        ("scored", 0.0, "no tool was to be called, but there was search"),
    ),
    "ToolCallScorer > edge cases > handles missing expectedTools": (
        "whatever was called passed where nothing was expected",
        ("unscored", None, "the case has no `expected_tools`"),
    ),
}
"""Golden vectors that hold a defect: why it is one, and the sound result."""

GISTS = {
    "All expected tools were called": "all 2 expected calls were made",
    "All tools called in expected order": "all 2 expected calls were made in order",
    "Missing required tool: weather_api": "weather_api was not called",
    "plus extra: format": "and also format",
    "plus extra: search": "and also search",
    "Unexpected extra tools: format": "not expected: format",
    "Missing required tools in sequence: weather_api": "weather_api was called, but out of order",
    "Partial match: 1/3": "1 of 3 expected calls was made",
    "incorrect arguments": "other arguments",
    "Tool 'search' called but with incorrect arguments": "search, has other arguments",
    "Tool 'filter' called with incorrect arguments at position 2": "call 2, filter, has other arguments",
    "Expected 1 tool(s) but none were called": "1 call is expected, and no tool was called",
}
"""What our reasons say where vitest-evals says this."""


def made(*calls):
    """An output with these calls: a name, or a name and arguments."""
    pairs = [(call, {}) if isinstance(call, str) else call for call in calls]
    return Output(value="", tool_calls=tuple(ToolCall(name=name, arguments=arguments) for name, arguments in pairs))


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def test_all_golden_vectors_hold_but_for_two_defects(shared):
    calls = read_vectors(shared, "toolcall")
    for name, settings, about, expect in calls:
        output = made(*((given["name"], given.get("arguments", {})) for given in about["toolCalls"]))
        columns = {"expectedTools": about["expectedTools"]} if "expectedTools" in about else {}
        score = ask(ToolCalls(**settings), output, metadata=columns)
        if name in EXCEPTIONS:
            status, value, reason = EXCEPTIONS[name][1]
            assert (score.status, score.value) == (status, value), (name, score)
            assert score.reason.startswith(reason)
            continue
        assert score.value == pytest.approx(scored(expect)), (name, score)
        assert score.passed is (scored(expect) == 1), (name, score)
        assert [said for said in rationales(expect) if GISTS[said] not in score.reason] == [], (name, score.reason)
        for item in expect:
            if item["path"] in ("metadata.matched", "metadata.total"):
                assert score.detail[item["path"].removeprefix("metadata.")] == item["value"]
    assert len(calls) == 31
    assert EXCEPTIONS.keys() <= {name for name, *_ in calls}


A, B = ("search", {"q": "A"}), ("search", {"q": "B"})
WANT_A, WANT_B = call("search", q="A"), call("search", q="B")


@pytest.mark.parametrize(
    ("settings", "calls", "value", "reason"),
    [
        pytest.param({"expected": "search"}, ["search"], 1, "the expected call was made", id="one name"),
        pytest.param({"expected": "search, book"}, ["book", "search"], 1, "all 2 expected", id="names with commas"),
        pytest.param({"expected": []}, [], 1, "no tool was to be called, and none was", id="none is expected"),
        pytest.param({"expected": []}, ["a", "b", "a"], 0, "but there was a (2 times), b", id="none, and some were"),
        pytest.param({"expected": ["a", "b"]}, [], 0, "2 calls are expected, and no tool was called", id="no call"),
        pytest.param({"expected": ["a", "a"]}, ["a"], 0, "a was called 1 of 2 times", id="too seldom"),
        pytest.param({"expected": ["A"]}, ["a"], 0, "A was not called", id="capitals count in names"),
        pytest.param(
            {"expected": [WANT_A, "search"]},
            [A, B],
            1,
            "all 2 expected calls",
            id="the bare name leaves the other its own",
        ),
        pytest.param({"expected": ["search", WANT_A]}, [A, B], 1, "all 2 expected calls", id="wherever it stands"),
        pytest.param(
            {"expected": [call("a")]}, [("a", {"x": 1})], 0, "expected no such field, found 1", id="no arguments"
        ),
        pytest.param({"expected": [{"name": "a"}]}, [("a", {"x": 1})], 1, "", id="whatever arguments"),
        pytest.param({"expected": [{"name": "a", "arguments": None}]}, [("a", {"x": 1})], 1, "", id="null: whatever"),
        pytest.param(
            {"expected": [WANT_A]},
            [B],
            0,
            "call 1, search, has other arguments: q: expected 'A', found 'B'",
            id="wrong",
        ),
        pytest.param({"expected": [WANT_A], "arguments": "ignore"}, [B], 1, "", id="arguments that are not compared"),
        pytest.param(
            {"expected": [call("a", x=1)]}, [("a", {"x": True})], 0, "expected 1, found true", id="true is no 1"
        ),
        pytest.param({"expected": ["a"], "allow_extras": False}, ["a", "a"], 0, "not expected: a", id="once too often"),
        pytest.param(
            {"expected": ["a", "b"], "require_all": False, "allow_extras": False}, ["a"], 0.5, "b was not", id="a share"
        ),
        pytest.param(
            {"expected": ["a", "b"], "require_all": False, "allow_extras": False},
            ["a", "c"],
            0,
            "b was not called; not expected: c",
            id="nothing for what must not be called",
        ),
        pytest.param(
            {"expected": [WANT_A, "a"]}, [B, "a"], 0, "1 of 2 expected calls was made", id="wrong, in any order"
        ),
        pytest.param(
            {"expected": [WANT_A, "a"], "ordered": True}, [B, "a"], 0.5, "call 1, search", id="wrong, but in its place"
        ),
        pytest.param({"expected": [WANT_A], "ordered": True}, [B, A], 1, "also search", id="a second try counts"),
        pytest.param(
            {"expected": [WANT_A, WANT_B, "a"], "ordered": True},
            [B, A, B, "a"],
            1,
            "in order",
            id="not the first that fits",
        ),
        pytest.param(
            {"expected": ["a", "b"], "ordered": True},
            ["b", "a"],
            0,
            "b was called, but out of order",
            id="wrong order",
        ),
        pytest.param(
            {"expected": ["a", "b", "c"], "ordered": True, "require_all": False},
            ["b", "c", "a"],
            2 / 3,
            "2 of 3 expected calls were made: a was called, but out of order",
            id="the longest order, not that of the first call",
        ),
        pytest.param(
            {"expected": ["a", "b"], "ordered": True, "allow_extras": False},
            ["a", "x", "b"],
            0,
            "not expected: x",
            id="x",
        ),
        pytest.param(
            {"expected": [call("f", tags=["ab", "a"])], "arguments": "fuzzy"},
            [("f", {"tags": ["a", "xab"]})],
            1,
            "",
            id="lists in arguments are paired as well as can be",
        ),
        pytest.param(
            {"expected": [call("f", q="Oslo")], "arguments": "fuzzy"}, [("f", {"q": "in OSLO now"})], 1, "", id="fuzzy"
        ),
        pytest.param(
            {"expected": [call("f", q="Oslo")], "arguments": "fuzzy", "fuzzy": {"substring": False}},
            [("f", {"q": "in OSLO now"})],
            0,
            "q: expected 'Oslo', found 'in OSLO now'",
            id="the whole text",
        ),
        pytest.param(
            {"expected": [call("f", q="Oslo")], "arguments": "fuzzy"}, [("f", {"q": ""})], 0, "", id="no text"
        ),
        pytest.param(
            {"expected": [call("f", n=lambda n: n > 5)], "arguments": "fuzzy"},
            [("f", {"n": 6})],
            1,
            "",
            id="a function",
        ),
        pytest.param(
            {"expected": [WANT_A], "arguments": lambda expected, found: expected.keys() == found.keys()},
            [B],
            1,
            "",
            id="own",
        ),
    ],
)
def test_what_is_judged(settings, calls, value, reason):
    score = ask(ToolCalls(**settings), made(*calls))
    assert (score.status, score.value, score.raw) == ("scored", pytest.approx(value), pytest.approx(value))
    assert score.passed is (value == 1)
    assert reason in score.reason


@pytest.mark.parametrize(
    ("metadata", "status", "value"),
    [
        pytest.param({}, "unscored", None, id="no column"),
        pytest.param({"expected_tools": None}, "unscored", None, id="null"),
        pytest.param({"expected_tools": ""}, "unscored", None, id="an empty cell"),
        pytest.param({"expected_tools": []}, "scored", 0, id="an empty list says that none is to be called"),
        pytest.param({"expected_tools": "[]"}, "scored", 0, id="in a cell too"),
        pytest.param({"expected_tools": ["search"]}, "scored", 1, id="a list"),
        pytest.param({"Expected Tools": "search"}, "scored", 1, id="capitals and blanks"),
        pytest.param({"expectedTools": '["search"]'}, "scored", 1, id="JSON in a cell"),
        pytest.param({"expected_tools": {"name": "search"}}, "scored", 1, id="one tool"),
        pytest.param(
            {"expected_tools": [{"name": "search", "input_parameters": {"q": "A"}}]}, "scored", 1, id="DeepEval"
        ),
        pytest.param({"reference_tool_calls": [{"name": "search", "args": {"q": "B"}}]}, "scored", 0, id="Ragas"),
        pytest.param(
            {"expected_tools": [{"type": "function", "function": {"name": "search", "arguments": '{"q": "A"}'}}]},
            "scored",
            1,
            id="OpenAI",
        ),
        pytest.param({"expected_tools": 3}, "error", None, id="a number"),
        pytest.param({"expected_tools": [3]}, "error", None, id="a list of numbers"),
        pytest.param({"expected_tools": "[oops"}, "error", None, id="broken JSON"),
        pytest.param({"expected_tools": ["a", ""]}, "error", None, id="an empty name"),
        pytest.param({"expected_tools": [{"name": "a", "arguments": [1]}]}, "error", None, id="arguments in a list"),
        pytest.param({"expected_tools": [{"name": "a", "arguments": {"x": math.nan}}]}, "error", None, id="NaN"),
        pytest.param({"expected_tools": [{"name": "a", "argument": {}}]}, "error", None, id="a misspelt key"),
    ],
)
def test_the_column_of_a_case(metadata, status, value):
    score = ask(ToolCalls(), made(A), metadata=metadata)
    assert (score.status, score.value) == (status, value)
    assert score.passed is (None if value is None else value == 1)
    assert score.reason


def test_the_setting_goes_before_the_column():
    assert ask(ToolCalls(expected=["search"]), made(A), metadata={"expected_tools": ["book"]}).passed


@pytest.mark.parametrize(
    ("file", "text"),
    [
        pytest.param(
            "rows.jsonl", '{"input": "?", "expected_tools": [{"name": "search", "args": {"q": "A"}}]}', id="JSONL"
        ),
        pytest.param(
            "rows.csv", 'input,expected_tools\n?,"[{""name"": ""search"", ""args"": {""q"": ""A""}}]"', id="CSV"
        ),
        pytest.param("names.csv", "input,Expected Tools\n?,search", id="CSV with a name"),
        pytest.param("rows.yaml", "- {input: '?', expected_tools: [search]}", id="YAML"),
    ],
)
def test_files_can_say_what_is_expected(tmp_path, file, text):
    (tmp_path / file).write_text(text)
    (case,) = read_cases(tmp_path / file)
    assert ask(ToolCalls(), made(A), metadata=case.metadata).passed
    assert not ask(ToolCalls(), made("book"), metadata=case.metadata).passed


FAILED = ToolCall(name="search", error="timeout")
WORKED = ToolCall(name="search", result=["Oslo"])


@pytest.mark.parametrize(
    ("settings", "calls", "value", "reason"),
    [
        pytest.param({}, (FAILED,), 1, "the expected call was made; failed: search", id="a failed call is a call"),
        pytest.param({"count_failed": False}, (FAILED,), 0, "search was called and failed", id="or none"),
        pytest.param({"count_failed": False}, (FAILED, WORKED), 1, "the expected call was made", id="the retry counts"),
        pytest.param({"allow_extras": False}, (FAILED, WORKED), 0, "not expected: search", id="a retry is one more"),
        pytest.param(
            {"allow_extras": False, "count_failed": False}, (FAILED, WORKED), 1, "", id="unless failures are none"
        ),
    ],
)
def test_calls_that_failed(settings, calls, value, reason):
    score = ask(ToolCalls(expected=["search"], **settings), Output(tool_calls=calls))
    assert score.value == value
    assert reason in score.reason
    assert score.detail["failed"] == ["search"]


def test_calls_of_a_transcript_count():
    assert ask(ToolCalls(expected=["search"]), Output(value="Oslo", transcript=(WORKED,))).passed


def test_the_detail_is_plain_data():
    wanted = ["a", call("b", x=1), "c", {"name": "d", "arguments": {"y": lambda y: False}}]
    scorer = ToolCalls(expected=wanted, arguments="fuzzy")
    score = ask(scorer, made(("b", {"x": {1, 2}}), "e", "a", ("d", {"y": 2}), ToolCallName("e")))
    assert json.loads(json.dumps(score.detail)) == {
        "matched": 1,
        "total": 4,
        "pairs": [{"name": "a", "expected": 0, "call": 2}],
        "wrong_arguments": [
            {"name": "b", "expected": 1, "call": 0, "arguments": {"expected": {"x": 1}, "found": {"x": [1, 2]}}},
            {
                "name": "d",
                "expected": 3,
                "call": 3,
                "arguments": {"expected": {"y": "what a function accepts"}, "found": {"y": 2}},
            },
        ],
        "missing": ["c"],
        "extras": ["e", "e"],
        "failed": [],
    }


class ToolCallName(str):
    """A name that is not quite a text, as enums of tools are."""

    __slots__ = ()


def test_a_threshold_decides_over_a_share():
    scorer = ToolCalls(expected=["a", "b"], require_all=False)
    assert ask(scorer, made("a"), threshold=0.5).passed is True
    assert ask(scorer, made("a"), threshold=0.6).passed is False


async def waits(expected, found):
    return True


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        pytest.param({"arguments": "exact"}, "takes 'strict', 'fuzzy', 'ignore' or a function", id="a word"),
        pytest.param({"arguments": waits}, "`arguments` is an async function", id="a coroutine would always be true"),
        pytest.param({"fuzzy": {"tolerance": 1}}, "set `arguments: fuzzy` too", id="options without a use"),
        pytest.param({"expected": 3}, "3 is not a list of tools", id="a number"),
        pytest.param({"expected": ["a", 3]}, "3 is not a tool; write its name", id="a number in a list"),
        pytest.param({"expected": ""}, "'' is not a tool", id="an empty text"),
        pytest.param({"expected": [{"arguments": {}}]}, "is not a tool; write its name", id="no name"),
        pytest.param(
            {"expected": [{"name": "a", "argument": {}}]},
            r"a has 'argument' \(did you mean 'arguments'\?\)",
            id="misspelt",
        ),
        pytest.param({"expected": [call("a", x=math.nan)]}, "the arguments of a hold NaN", id="NaN"),
        pytest.param({"expected": [call("a", x=len)]}, "set `arguments: fuzzy` to use it", id="a rule not asked"),
    ],
)
def test_wrong_settings_are_refused(settings, told):
    with pytest.raises(ConfigError, match=told):
        ToolCalls(**settings)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        pytest.param(
            {"expectd": []}, "there is no setting 'expectd'; did you mean 'expected'", id="a misspelt setting"
        ),
        pytest.param({"ordered": "yes"}, "the setting 'ordered' is 'yes'", id="a word for a truth value"),
        pytest.param({"arguments": "exact"}, "should be 'strict', 'fuzzy' or 'ignore'", id="no such way to compare"),
        pytest.param(
            {"expected": [3]}, "suite.yaml:3: tool_calls: `expected` cannot be used: 3 is not a tool", id="number"
        ),
    ],
)
def test_wrong_settings_of_a_suite_are_refused_with_their_place(settings, told):
    with pytest.raises(ConfigError, match=told):
        resolve_scorer("tool_calls", settings, "suite.yaml:3")


def test_a_suite_names_it_with_settings():
    settings = {"expected": ["a", call("b", x=1)], "ordered": True, "arguments": "fuzzy", "fuzzy": {"tolerance": 0.5}}
    assert resolve_scorer("tool_calls", settings) == ToolCalls(**settings)
    assert ToolCalls(arguments="fuzzy", fuzzy=Fuzzy(substring=True)).fuzzy == Fuzzy(substring=True)


def test_a_tool_that_must_not_be_called():
    scorer = resolve_scorer("not-tool_calls", {"expected": "delete_account"})
    assert ask(scorer, made("search")).passed is True
    assert ask(scorer, made("search", "delete_account")).passed is False
    assert ask(scorer, Output(tool_calls=(ToolCall(name="delete_account", error="denied"),))).passed is False


NAMES = st.sampled_from("abc")
WANTED = st.lists(NAMES | st.builds(lambda name, x: call(name, x=x), NAMES, st.integers(0, 2)), max_size=6)
CALLS = st.lists(st.tuples(NAMES, st.builds(lambda x: {"x": x}, st.integers(0, 2))), max_size=6)
SETTINGS = st.fixed_dictionaries(
    {
        "require_all": st.booleans(),
        "allow_extras": st.booleans(),
        "arguments": st.sampled_from(["strict", "fuzzy", "ignore"]),
    }
)


@given(WANTED, CALLS, SETTINGS, st.randoms())
def test_without_order_no_order_changes_the_score(wanted, calls, settings, random):
    before = ask(ToolCalls(expected=wanted, **settings), made(*calls))
    random.shuffle(wanted)
    random.shuffle(calls)
    after = ask(ToolCalls(expected=wanted, **settings), made(*calls))
    assert (before.value, before.passed) == (after.value, after.passed)
    assert before.detail["matched"] == after.detail["matched"]


@given(WANTED, CALLS, SETTINGS, st.booleans())
def test_every_value_is_a_share_and_whoever_passes_has_all(wanted, calls, settings, ordered):
    score = ask(ToolCalls(expected=wanted, ordered=ordered, **settings), made(*calls))
    assert 0 <= score.value <= 1
    assert score.passed is (score.value == 1)
    assert not score.passed or score.detail["matched"] == len(wanted)
    assert score.reason


def takes_the_first(wanted, calls):
    """How many expectations are met where each takes the first call that fits."""
    left, matched = list(calls), 0
    for item in wanted:
        name, arguments = (item, None) if isinstance(item, str) else (item["name"], item["arguments"])
        fits = [one for one in left if one[0] == name and arguments in (None, one[1])]
        if fits:
            left.remove(fits[0])
            matched += 1
    return matched


@given(WANTED, CALLS)
def test_no_fewer_are_found_than_by_taking_the_first_that_fits(wanted, calls):
    assert ask(ToolCalls(expected=wanted), made(*calls)).detail["matched"] >= takes_the_first(wanted, calls)


@given(WANTED, CALLS)
def test_with_order_no_more_are_found_than_without(wanted, calls):
    free = ask(ToolCalls(expected=wanted), made(*calls)).detail["matched"]
    assert ask(ToolCalls(expected=wanted, ordered=True), made(*calls)).detail["matched"] <= free


@given(CALLS, st.booleans())
def test_calls_match_themselves(calls, ordered):
    wanted = [call(name, **arguments) for name, arguments in calls]
    assert ask(ToolCalls(expected=wanted, ordered=ordered, allow_extras=False), made(*calls)).value == 1
