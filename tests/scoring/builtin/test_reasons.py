"""A score that passes carries a reason that does not read like a failure."""

import asyncio

import pytest

from evalmark import Case, Output, Similarity, StructuredOutput
from evalmark.scorers import (
    AnswerCorrectness,
    AnswerHallucination,
    AnswerQuestionRelevance,
    AnswerRelevance,
    ContextPrecisionAtK,
    ContextRecallAtK,
    ContextRelevance,
    ContextSufficiency,
    EditSimilarity,
)
from evalmark.scoring.binding.bound_scorer import as_scorer

from .asking import Angles

CASE = Case(
    id="1",
    input="q deg=0",
    expected="r deg=20",
    contexts=("c deg=70", "c deg=10"),
    metadata={"expected_tools": [{"name": "search"}, {"name": "book"}]},
)
OUTPUT = Output(value="One deg=60. Two deg=150.", seconds=0.1)
ALARMS = ("likely", "insufficient", "doesn't", "significant", "off-topic", "not supported", "not match", "unsupported")
GRADED = (
    ContextRelevance(),
    ContextSufficiency(),
    AnswerRelevance(),
    AnswerCorrectness(),
    AnswerQuestionRelevance(),
    ContextPrecisionAtK(),
    ContextRecallAtK(),
    EditSimilarity(),
    Similarity(),
    AnswerHallucination(),
)


@pytest.mark.parametrize("scorer", GRADED, ids=lambda scorer: scorer.name)
def test_a_graded_score_that_passes_states_what_was_measured(scorer):
    threshold = 1.0 if scorer.name == "answer_hallucination" else 0.0
    (score,) = asyncio.run(as_scorer(scorer, threshold=threshold, embedder=Angles())(CASE, OUTPUT))
    assert (score.status, score.passed) == ("scored", True)
    assert [word for word in ALARMS if word in score.reason.lower()] == []
    assert score.reason


def test_partial_credit_that_passes_begins_with_what_matches():
    case = Case(id="1", expected={"city": "Oslo", "days": 2})
    bound = as_scorer(StructuredOutput(require_all=False), threshold=0.5)
    (score,) = asyncio.run(bound(case, Output(value={"city": "Oslo", "days": 3})))
    assert score.passed is True
    assert score.reason == "1 of 2 fields matches: days: expected 2, found 3"
