"""`assess_answer` beside the golden verdicts of Auto-Analyst, and where it differs on purpose."""

import json

import pytest

from evalmark.quality import QualityRules, assess_answer

DIFFERENCES = {
    "any bracket counts as citation": (
        ["Missing citations."],
        "a citation is a number in brackets; `a[i]` is code",
    ),
    "list question, any hyphen passes": (
        ["Missing structured list format for a list-style question."],
        "`well-known` is a word, not a list",
    ),
    "substring trigger: waterfall": (
        [],
        "`waterfall` is another word than `fall`",
    ),
}
"""What the default says instead, and why."""


@pytest.fixture(scope="module")
def golden(shared):
    found = json.loads((shared / "data/auto-analyst/quality_control_cases.json").read_text(encoding="utf-8"))
    assert len(found["cases"]) == 10
    return found


def assessed(case, **options):
    asked = {key: case[key] for key in ("question", "answer", "contexts", "retrieval_scores")}
    return assess_answer(**asked, run_id=case["name"], **options)


def test_strict_compat_gives_every_golden_verdict(golden):
    for case in golden["cases"]:
        assert assessed(case, strict_compat=True) == case["expected"], case["name"]


def test_the_default_differs_where_it_is_said_and_nowhere_else(golden):
    assert DIFFERENCES.keys() <= {case["name"] for case in golden["cases"]}
    for case in golden["cases"]:
        wanted, _ = DIFFERENCES.get(case["name"], (case["expected"]["issues"], ""))
        found = assessed(case)
        assert found == {"is_good_enough": not wanted, "issues": wanted}, case["name"]
        if case["name"] in DIFFERENCES:
            assert wanted != case["expected"]["issues"], case["name"]


def test_the_rules_are_those_of_the_original(golden):
    rules = QualityRules()
    assert rules.min_relevance == golden["qc_min_relevance_threshold"]
    assert list(rules.fallback_phrases) == golden["fallback_phrases"]
    assert list(rules.list_triggers) == golden["structured_triggers"]


OURS_AND_THEIRS = [
    pytest.param(
        {"answer": "Yes [7]."}, ["Citation out of range: [7] (contexts: 2)"], [], id="nothing is cited by [7]"
    ),
    pytest.param({"answer": "Yes [sic]."}, ["Missing citations."], [], id="[sic] cites nothing"),
    pytest.param(
        {"contexts": ["", " "]}, ["No supporting context retrieved."], [], id="blank contexts support nothing"
    ),
    pytest.param(
        {"question": "Is it stable?"},
        [],
        ["Missing structured list format for a list-style question."],
        id="stable is another word than table",
    ),
    pytest.param(
        {"question": "A top-level domain?"},
        [],
        ["Missing structured list format for a list-style question."],
        id="top-level is another word than top",
    ),
    pytest.param(
        {"question": "The current price?", "answer": "From 9-11 it is 21. [1]"},
        ["Missing structured list format for a list-style question."],
        [],
        id="a span of hours is no list",
    ),
    pytest.param(
        {"question": "The current ferries?", "answer": "* Oslo [1]\n* Moss [2]"},
        [],
        ["Missing structured list format for a list-style question."],
        id="a list with stars is a list",
    ),
    pytest.param(
        {"question": "The current ferries?", "answer": "2) Oslo [1]\n3) Moss [2]"},
        [],
        ["Missing structured list format for a list-style question."],
        id="a list that begins with 2) is a list",
    ),
]


@pytest.mark.parametrize(("given", "ours", "theirs"), OURS_AND_THEIRS)
def test_the_other_deliberate_differences(given, ours, theirs):
    asked = {"question": "Is it so?", "answer": "Yes [1].", "contexts": ["One.", "Two."], **given}
    assert assess_answer(**asked)["issues"] == ours
    assert assess_answer(**asked, strict_compat=True)["issues"] == theirs
