"""The RAG metrics as scorers: honest states, reasons, support by sentence."""

import asyncio
import math

import pytest

from evalmark import Case, Output
from evalmark.errors import ConfigError
from evalmark.scorers import (
    AnswerCorrectness,
    AnswerHallucination,
    AnswerQuestionRelevance,
    AnswerRelevance,
    ContextPrecisionAtK,
    ContextRecallAtK,
    ContextRelevance,
    ContextSufficiency,
)
from evalmark.scoring.binding.bound_scorer import as_scorer
from evalmark.scoring.builtin.grounding import FLAGS, RAG_METRICS, flag_thresholds
from evalmark.scoring.builtin.retrieval import precision_at_k

from .asking import Angles, ask

FIVE = (ContextRelevance(), ContextSufficiency(), AnswerRelevance(), AnswerCorrectness(), AnswerHallucination())
ROW = {"input": "q deg=0", "expected": "r deg=20", "contexts": ("c deg=0", "c deg=80")}
ANSWER = "One deg=10. Two deg=150."


def test_the_five_are_those_with_a_flag():
    assert tuple(scorer.name for scorer in FIVE) == RAG_METRICS == tuple(FLAGS)
    assert [as_scorer(scorer).metric.direction for scorer in FIVE] == ["higher"] * 4 + ["lower"]
    assert flag_thresholds(RAG_METRICS) == {name: flag.limit for name, flag in FLAGS.items()}


def whole(text):
    return [text]


@pytest.mark.parametrize(
    ("scorer", "raw"),
    [
        (ContextRelevance(), (1 + math.cos(math.radians(80))) / 2),
        (ContextSufficiency(), 0.5),
        (ContextSufficiency(sufficiency=0.1), 1.0),
        (AnswerRelevance(), math.cos(math.radians(10))),
        (AnswerCorrectness(), math.cos(math.radians(10))),
        (AnswerQuestionRelevance(), math.cos(math.radians(10))),
        (AnswerHallucination(), 0.5),
        (AnswerHallucination(hallucination=0.3), 0.0),
        (AnswerHallucination(splitter="simple"), 0.5),
        pytest.param(AnswerHallucination(splitter=whole), 0.0, id="a splitter of one's own"),
        (ContextPrecisionAtK(), 1.0),
        (ContextPrecisionAtK(similar=0.4), 1.0),
        (ContextRecallAtK(), 1.0),
    ],
    ids=repr,
)
def test_the_values_by_hand(scorer, raw):
    embedder = Angles()
    score = ask(scorer, ANSWER, embedder=embedder, **ROW)
    assert score.raw == pytest.approx(raw, abs=1e-9)
    assert score.value == pytest.approx(raw, abs=1e-9)
    assert score.passed is None
    assert len(embedder.requests) == 1, "one call for all texts of a case"


@pytest.mark.parametrize(
    ("row", "answer", "unscored", "reason"),
    [
        pytest.param({**ROW, "contexts": ()}, ANSWER, RAG_METRICS[:2], "there are no contexts", id="no contexts"),
        pytest.param({**ROW, "contexts": None}, ANSWER, RAG_METRICS[:2], "there are no contexts", id="nothing said"),
        pytest.param(ROW, "", RAG_METRICS, "the answer is empty", id="an empty answer"),
        pytest.param(ROW, " \n", RAG_METRICS, "the answer is empty", id="a blank answer"),
        pytest.param(ROW, None, RAG_METRICS, "the answer is empty", id="no answer"),
        pytest.param(ROW, "...!?", RAG_METRICS[-1:], "has no sentence", id="nothing but punctuation"),
        pytest.param(
            {**ROW, "expected": None}, ANSWER, RAG_METRICS[2:4], "the case has no expected answer", id="no reference"
        ),
        pytest.param({**ROW, "input": None}, ANSWER, RAG_METRICS[:2], "the case has no question", id="no question"),
    ],
)
def test_what_cannot_be_judged_is_unscored_and_nothing_else(row, answer, unscored, reason):
    scores = [ask(scorer, answer, **row) for scorer in FIVE]
    assert tuple(score.name for score in scores if score.status == "unscored") == tuple(unscored)
    assert all(reason in score.reason for score in scores if score.status == "unscored")
    assert all((score.value is None) == (score.status == "unscored") for score in scores)


@pytest.mark.parametrize("contexts", [(), None])
def test_without_contexts_everything_is_made_up_and_nothing_is_embedded(contexts):
    embedder = Angles()
    score = ask(AnswerHallucination(), ANSWER, embedder=embedder, **{**ROW, "contexts": contexts})
    assert (score.status, score.value, score.direction) == ("scored", 1.0, "lower")
    assert "there are no contexts, so 0 of 2 sentences can be similar to one" in score.reason
    assert not embedder.requests
    assert {s["context"] for s in score.detail["sentences"]} == {None}


def test_what_the_target_retrieved_counts_before_the_row():
    bound = as_scorer(ContextRelevance(), embedder=Angles())
    output = Output(value=ANSWER, contexts=("deg=0",))
    (score,) = asyncio.run(bound(Case(id="1", **ROW), output))
    assert score.raw == pytest.approx(1.0)


def test_a_negative_cosine_counts_as_0_and_keeps_its_sign_in_raw():
    score = ask(AnswerRelevance(), "deg=180", expected="deg=0")
    assert (score.raw, score.value) == (pytest.approx(-1.0), 0.0)


@pytest.mark.parametrize(
    ("scorer", "row", "answer", "reason"),
    [
        (
            ContextRelevance(),
            {**ROW, "contexts": ("deg=80",)},
            ANSWER,
            "question and 1 context have a mean cosine of 0.174",
        ),
        (
            ContextSufficiency(),
            {**ROW, "contexts": ("deg=80",)},
            ANSWER,
            "0 of 1 context reach a cosine of 0.5 to the question",
        ),
        (
            AnswerRelevance(),
            ROW,
            "deg=90",
            "cosine 0.342 to the reference 'r deg=20'; the answer is 'deg=90'",
        ),
        (
            AnswerCorrectness(),
            ROW,
            "deg=90",
            "cosine 0.342 to the reference 'r deg=20'; the answer is 'deg=90'",
        ),
        (
            AnswerHallucination(),
            ROW,
            ANSWER,
            "1 of 2 sentences similar to a context; not 'Two deg=150.'",
        ),
        (AnswerHallucination(), ROW, "One deg=0.", "1 of 1 sentence similar to a context"),
    ],
)
def test_a_reason_is_the_measured_fact_on_either_side_of_a_limit(scorer, row, answer, reason):
    assert ask(scorer, answer, **row).reason == reason


@pytest.mark.parametrize(
    ("name", "value", "beyond"),
    [
        ("context_relevance", 0.49, True),
        ("context_relevance", 0.5, False),
        ("answer_relevance", 0.59, True),
        ("answer_hallucination", 0.31, True),
        ("answer_hallucination", 0.3, False),
        ("answer_hallucination", None, False),
    ],
)
def test_a_flag_is_beyond_its_limit(name, value, beyond):
    assert FLAGS[name].is_beyond(value) is beyond


def test_every_sentence_has_its_closest_context():
    score = ask(AnswerHallucination(), ANSWER, **ROW)
    assert score.detail["sentences"] == [
        {
            "sentence": "One deg=10.",
            "similarity": pytest.approx(math.cos(math.radians(10))),
            "context": 0,
            "supported": True,
        },
        {
            "sentence": "Two deg=150.",
            "similarity": pytest.approx(math.cos(math.radians(70))),
            "context": 1,
            "supported": False,
        },
    ]


@pytest.mark.parametrize(
    ("relevant", "precision"),
    [
        ([True, True], 1.0),
        ([False, True], 0.5),
        ([True, False, True], (1 + 2 / 3) / 2),
        ([False, False], 0.0),
        ([], 0.0),
    ],
)
def test_precision_rewards_relevant_contexts_that_come_first(relevant, precision):
    assert precision_at_k(relevant) == pytest.approx(precision)


REFERENCE = "One deg=0. Two deg=90."


@pytest.mark.parametrize(
    ("scorer", "contexts", "value"),
    [
        pytest.param(ContextPrecisionAtK(), ("deg=200", "deg=5"), 0.5, id="the relevant one comes second"),
        pytest.param(ContextPrecisionAtK(k=1), ("deg=200", "deg=5"), 0.0, id="the first is not relevant"),
        pytest.param(ContextPrecisionAtK(), ("deg=5", "deg=85", "deg=200"), 1.0, id="the relevant ones come first"),
        pytest.param(ContextRecallAtK(), ("deg=5", "deg=200"), 0.5, id="one sentence of two is covered"),
        pytest.param(ContextRecallAtK(), ("deg=5", "deg=85"), 1.0, id="both are"),
        pytest.param(ContextRecallAtK(k=1), ("deg=5", "deg=85"), 0.5, id="only the first context counts"),
        pytest.param(ContextRecallAtK(), ("deg=225",), 0.0, id="none is"),
    ],
)
def test_precision_and_recall_at_k(scorer, contexts, value):
    score = ask(scorer, "anything", expected=REFERENCE, contexts=contexts)
    assert score.value == pytest.approx(value)
    assert score.reason


@pytest.mark.parametrize("scorer", [ContextPrecisionAtK(), ContextRecallAtK()])
def test_retrieval_is_judged_without_an_answer_but_not_without_contexts_or_reference(scorer):
    assert ask(scorer, "", expected=REFERENCE, contexts=("deg=0",)).status == "scored"
    assert ask(scorer, "a", expected=REFERENCE, contexts=()).reason == "there are no contexts"
    assert ask(scorer, "a", contexts=("deg=0",)).reason == "the case has no expected answer"


def test_recall_names_what_is_not_covered():
    score = ask(ContextRecallAtK(), "a", expected=REFERENCE, contexts=("deg=5", "deg=200"))
    assert score.reason == "the contexts cover 1 of 2 sentences of the reference, not 'Two deg=90.'"
    assert [s["covered"] for s in score.detail["sentences"]] == [True, False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ContextSufficiency(sufficiency=1.5), "context_sufficiency: `sufficiency` is 1.5"),
        (lambda: AnswerHallucination(hallucination=math.nan), "answer_hallucination: `hallucination` is nan"),
        (lambda: AnswerHallucination(splitter="x"), "splitter 'x' is unknown"),
        (lambda: ContextRecallAtK(k=0), "context_recall_at_k: `k` is 0"),
        (lambda: ContextPrecisionAtK(similar=-2), "context_precision_at_k: `similar` is -2"),
    ],
)
def test_settings_that_cannot_be_right_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
