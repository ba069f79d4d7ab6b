"""The functions of `evalmark.rag` beyond their golden values."""

import asyncio
import inspect
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import ConfigError
from evalmark.rag import (
    answer_correctness,
    answer_hallucination,
    answer_relevance,
    context_relevance,
    context_sufficiency,
    evaluate_all,
)
from evalmark.scoring.builtin.grounding import FLAGS
from tests.scoring.builtin.asking import angles

FIVE = ["context_relevance", "context_sufficiency", "answer_relevance", "answer_correctness", "answer_hallucination"]


def evaluate(**options):
    row = {"question": "q deg=0", "answer": "Yes deg=10. No deg=80.", "reference": "deg=20", "contexts": ["deg=0"]}
    return evaluate_all(**{**row, "model_name": angles, **options})


def test_the_keys_are_exactly_five_in_order():
    assert list(evaluate()) == FIVE
    assert list(FLAGS) == FIVE


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (context_relevance, ["query", "contexts", "model_name", "precomputed_embeddings"]),
        (context_sufficiency, ["query", "contexts", "model_name", "threshold", "precomputed_embeddings"]),
        (answer_relevance, ["question", "answer", "reference", "model_name", "precomputed_embeddings"]),
        (answer_correctness, ["answer", "reference", "model_name", "precomputed_embeddings"]),
        (
            answer_hallucination,
            ["answer", "contexts", "model_name", "threshold", "splitter", "precomputed_embeddings"],
        ),
        (
            evaluate_all,
            ["question", "answer", "reference", "contexts", "model_name", "thresholds", "splitter", "extra"],
        ),
    ],
)
def test_the_signatures_are_those_that_users_know(function, parameters):
    assert list(inspect.signature(function).parameters) == parameters


def test_everything_is_embedded_in_one_call_and_every_text_once():
    calls = []

    def model(texts):
        calls.append(texts)
        return angles(texts)

    evaluate(model_name=model, contexts=["deg=0", "deg=0", "q deg=0"])
    assert len(calls) == 1
    assert len(calls[0]) == len(set(calls[0]))


def test_the_default_splitter_keeps_numbers_together():
    row = {"answer": "Version 3.5 deg=0", "contexts": ["deg=0"]}
    assert evaluate(**row)["answer_hallucination"] == 0.0
    assert evaluate(**row, splitter="simple")["answer_hallucination"] == 0.5


def length(answer, contexts):
    return len(answer) + len(contexts)


async def later(question):
    await asyncio.sleep(0)
    return len(question)


def test_further_metrics_are_called_with_what_they_name():
    found = evaluate(extra=[length, later])
    assert list(found) == [*FIVE, "length", "later"]
    assert found["length"] == 23.0
    assert found["later"] == 7.0


def test_a_further_metric_may_use_the_model():
    def spread(model_name, contexts):
        return float(np.std(model_name(contexts)))

    assert evaluate(extra=[spread])["spread"] > 0


def unknown(prompt):
    return 1.0


def text(answer):
    return "good"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        pytest.param([unknown], "extra metric 'unknown': cannot fill parameter 'prompt'", id="an unknown parameter"),
        pytest.param([text], "extra metric 'text' returned 'good', which is not a number", id="no number"),
        pytest.param([length, length], "there is a metric 'length' already", id="one name twice"),
        pytest.param([context_relevance], "there is a metric 'context_relevance' already", id="a built-in name"),
    ],
)
def test_a_further_metric_that_does_not_fit_is_refused(extra, message):
    with pytest.raises(ConfigError, match=message):
        evaluate(extra=extra)


def test_embeddings_at_hand_are_used_instead_of_the_model():
    def model(texts):
        raise AssertionError("the model was asked")

    one, many = angles(["deg=0"])[0], angles(["deg=60", "deg=0"])
    pair = {"answer": one, "reference": many[0]}
    assert context_relevance(
        "q", ["a", "b"], model, precomputed_embeddings={"query": one, "contexts": many}
    ) == pytest.approx(0.75)
    assert context_sufficiency(
        "q", ["a", "b"], model, 0.6, precomputed_embeddings={"query": one, "contexts": many}
    ) == pytest.approx(0.5)
    assert answer_relevance("q", "a", "b", model, precomputed_embeddings=pair) == pytest.approx(0.5)
    assert answer_correctness("a", "b", model, precomputed_embeddings=pair) == pytest.approx(0.5)
    at_hand = {"sentences": many, "contexts": many[:1]}
    assert answer_hallucination("One. Two.", ["a"], model, 0.6, precomputed_embeddings=at_hand) == 0.5


def test_embeddings_at_hand_of_the_wrong_number_are_refused():
    with pytest.raises(ConfigError, match=r"precomputed_embeddings\['contexts'\] has the shape \(1, 2\); 2 rows"):
        context_relevance("q", ["a", "b"], precomputed_embeddings={"query": [1, 0], "contexts": [[1, 0]]})


def test_one_text_instead_of_a_list_of_contexts_is_refused():
    with pytest.raises(ConfigError, match="contexts is one text; pass a list of texts"):
        evaluate(contexts="deg=0")


def test_the_model_is_not_asked_where_nothing_is_to_be_compared():
    def model(texts):
        raise AssertionError("the model was asked")

    assert context_relevance("q", [], model) == 0.0
    assert answer_hallucination("", ["a"], model) == 0.0
    assert answer_hallucination("a", [], model) == 1.0


def test_values_are_logged(caplog):
    with caplog.at_level(logging.DEBUG, logger="evalmark.rag"):
        evaluate()
        answer_correctness("deg=0", "deg=0", angles)
    lines = [(record.name, record.levelname) for record in caplog.records]
    assert lines == [("evalmark.rag", "INFO"), ("evalmark.rag", "DEBUG")]
    assert caplog.records[0].message.startswith("context_relevance=1.0000 context_sufficiency=1.0000 ")


def test_it_works_inside_a_running_loop():
    async def inside():
        return evaluate()

    assert asyncio.run(inside()) == evaluate()


@given(
    st.lists(st.integers(0, 359), max_size=4),
    st.lists(st.integers(0, 359), max_size=4),
    st.integers(0, 359),
    st.floats(0.01, 0.99),
)
def test_shares_are_shares_and_means_lie_between_least_and_most(contexts, sentences, question, limit):
    texts = [f"deg={angle}" for angle in contexts]
    answer = " ".join(f"Say deg={angle}." for angle in sentences)
    found = evaluate_all(f"deg={question}", answer, "deg=0", texts, angles, (limit, limit))
    assert 0 <= found["context_sufficiency"] <= 1
    assert 0 <= found["answer_hallucination"] <= 1
    assert -1.000001 <= found["context_relevance"] <= 1.000001
    if contexts and sentences:
        unsupported = [all(np.cos(np.radians(s - c)) < limit - 1e-7 for c in contexts) for s in sentences]
        near = sum(any(abs(np.cos(np.radians(s - c)) - limit) < 1e-6 for c in contexts) for s in sentences)
        assert abs(found["answer_hallucination"] * len(sentences) - sum(unsupported)) <= near + 1e-9
