"""The functions of `evalmark.rag` beside the golden values of Auto-Analyst's metrics."""

import json

import pytest

from evalmark.rag import (
    answer_correctness,
    answer_hallucination,
    answer_relevance,
    context_relevance,
    context_sufficiency,
    evaluate_all,
)
from tests.scoring.builtin.asking import angles

DIFFERENCES = {
    ("punctuation-only answer (DIVERGES: separate 0.0, evaluate_all 1.0)", "evaluate_all"): (
        {"answer_hallucination": 0.0},
        "evaluate_all agrees with the single function: an answer without a sentence makes nothing up",
    ),
}
"""Where we differ on purpose, and why."""


@pytest.fixture(scope="module")
def golden(shared):
    cases = json.loads((shared / "data/auto-analyst/metrics_cases.json").read_text(encoding="utf-8"))["cases"]
    assert len(cases) == 8
    assert {name for name, _ in DIFFERENCES} <= {case["name"] for case in cases}
    return cases


def wanted(case, form):
    changed, _ = DIFFERENCES.get((case["name"], form), ({}, ""))
    return pytest.approx({**case[form], **changed}, abs=1e-8)


def test_evaluate_all_gives_the_golden_values(golden):
    for case in golden:
        found = evaluate_all(
            question=case["question"],
            answer=case["answer"],
            reference=case["reference"],
            contexts=case["contexts"],
            model_name=angles,
            thresholds=tuple(case["thresholds"]),
            splitter="simple",
        )
        assert found == wanted(case, "evaluate_all"), case["name"]


def test_the_single_functions_give_the_golden_values(golden):
    for case in golden:
        question, answer, contexts, reference = (case[k] for k in ("question", "answer", "contexts", "reference"))
        enough, supported = case["thresholds"]
        found = {
            "context_relevance": context_relevance(question, contexts, angles),
            "context_sufficiency": context_sufficiency(question, contexts, angles, enough),
            "answer_relevance": answer_relevance(question, answer, reference, angles),
            "answer_correctness": answer_correctness(answer, reference, angles),
            "answer_hallucination": answer_hallucination(answer, contexts, angles, supported, splitter="simple"),
        }
        assert found == wanted(case, "separate"), case["name"]


def test_evaluate_all_agrees_with_the_single_functions(golden):
    for case in golden:
        question, answer, contexts, reference = (case[k] for k in ("question", "answer", "contexts", "reference"))
        found = evaluate_all(question, answer, reference, contexts, angles)
        assert found == {
            "context_relevance": context_relevance(question, contexts, angles),
            "context_sufficiency": context_sufficiency(question, contexts, angles),
            "answer_relevance": answer_relevance(question, answer, reference, angles),
            "answer_correctness": answer_correctness(answer, reference, angles),
            "answer_hallucination": answer_hallucination(answer, contexts, angles),
        }
