"""The same checks as a scorer of a suite."""

import pytest

from evalmark import Output
from evalmark.errors import ConfigError
from evalmark.scorers import AnswerQuality
from evalmark.scoring.binding.registry import resolve_scorer
from tests.scoring.builtin.asking import ask

GOOD = {"input": "Is it so?", "contexts": ("One.",)}


def test_it_passes_without_an_issue():
    score = ask(AnswerQuality(), "Yes [1].", **GOOD)
    assert (score.name, score.passed, score.value) == ("quality", True, 1.0)
    assert score.reason == "no issue with the answer 'Yes [1].', 1 context"
    assert score.detail == {"issues": [], "relevance": None}


def test_it_fails_with_the_issues_as_its_reason():
    score = ask(AnswerQuality(), "Yes [2].", **{**GOOD, "input": "List them"})
    assert (score.passed, score.value) == (False, 0.0)
    assert score.detail["issues"] == [
        "Citation out of range: [2] (contexts: 1)",
        "Missing structured list format for a list-style question.",
    ]
    assert score.reason == "; ".join(score.detail["issues"])


@pytest.mark.parametrize(
    ("output", "case"),
    [
        pytest.param(Output(value="Yes [1].", metadata={"retrieval_scores": [0.1]}), {}, id="of the output"),
        pytest.param(Output(value="Yes [1]."), {"metadata": {"retrieval_scores": [0.1]}}, id="of the row"),
        pytest.param(
            Output(value="Yes [1].", metadata={"retrieval_scores": [0.1]}),
            {"metadata": {"retrieval_scores": [0.9]}},
            id="of the output before those of the row",
        ),
    ],
)
def test_retrieval_scores_are_those(output, case):
    score = ask(AnswerQuality(), output, **GOOD, **case)
    assert score.reason == "Low retrieval relevance (avg: 0.100 < 0.25)"
    assert score.detail["relevance"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("output", "case", "reason"),
    [
        pytest.param("Yes [1].", {"contexts": None}, "there are no contexts", id="nobody says what was retrieved"),
        pytest.param({"a": [1]}, {}, 'the answer {"a": [1]} is not a text', id="an answer that is data"),
        pytest.param(
            "Yes [1].",
            {"metadata": {"retrieval_scores": "high"}},
            "metadata: retrieval_scores is 'high'; pass a list of numbers",
            id="scores that are none",
        ),
    ],
)
def test_what_cannot_be_judged_is_unscored(output, case, reason):
    score = ask(AnswerQuality(), output, **{**GOOD, **case})
    assert (score.status, score.passed, score.reason) == ("unscored", None, reason)


def test_an_answer_that_is_missing_is_empty():
    assert ask(AnswerQuality(), None, **GOOD).detail["issues"] == ["Answer is empty.", "Missing citations."]


def test_nothing_retrieved_is_an_issue_and_not_the_same_as_unknown():
    score = ask(AnswerQuality(), "Yes.", **{**GOOD, "contexts": ()})
    assert score.detail["issues"] == ["No supporting context retrieved.", "Missing citations."]


def test_a_suite_names_it_with_its_settings():
    assert resolve_scorer("quality") == AnswerQuality()
    settings = {"min_relevance": 0.5, "list_triggers": ["which"], "fallback_phrases": ["sorry"], "strict_compat": True}
    assert resolve_scorer("quality", settings) == AnswerQuality(**settings)
    assert ask(resolve_scorer("quality", {"strict_compat": True}), "a[i]", **GOOD).passed is True
    assert ask(resolve_scorer("not-quality"), "Yes.", **GOOD).passed is True


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"min_relevance": "high"}, id="a limit that is a text"),
        pytest.param({"fallback_phrases": [""]}, id="an empty phrase"),
        pytest.param({"min_relevence": 0.5}, id="a misspelled setting"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_with_their_place(settings):
    with pytest.raises(ConfigError, match=r"^suite\.yaml:3: "):
        resolve_scorer("quality", settings, "suite.yaml:3")
