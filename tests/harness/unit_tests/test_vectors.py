"""The golden vectors: what PromptWatch's rule gave, except where it was a defect; there the sound result and its reason."""

import json

import pytest

from evalmark.unit_tests import UnitTest

from .recorded import case, cosine

SOUND = {
    "one positive, cos exactly 0.90 (float edge)": (
        {"passed": True},
        "S0.26: 0.9 that is stored as 0.8999999 is 0.9",
    ),
    "type mismatch in ANY output fails whole case (second would match)": (
        {
            "score": 0.99,
            "passed": True,
            "reasoning": None,
            "metadata": {"closest_reference_example": {"label": 1, "value": "ref deg=8.1096144560"}},
        },
        "S0.22, step 2: one output that does not fit does not end the case",
    ),
}
"""By the name of a vector: what is asserted instead, and why."""


def vectors(shared):
    return json.loads((shared / "data" / "promptwatch" / "cosine_cases.json").read_text(encoding="utf-8"))["cases"]


def wanted(vector):
    changed, _ = SOUND.get(vector["name"], ({}, ""))
    expected = vector["expected"] | changed
    return expected | {"metadata": vector["expected"]["metadata"] | changed.get("metadata", {})}


def test_every_vector_holds_when_the_strategy_is_asked_alone(shared):
    for vector in vectors(shared):
        given = case(*((output["label"], output["value"]) for output in vector["outputs"]))
        found = cosine(**vector["strategy"]).evaluate(vector["generated"], given)
        check(vector, found)


def test_every_vector_holds_inside_of_a_test(shared, world):
    for vector in vectors(shared):
        given = case(*((output["label"], output["value"]) for output in vector["outputs"]))
        unit_test = UnitTest("vector", cosine(**vector["strategy"]), store=None, raise_on_failure=False)
        with unit_test.for_test_cases([given]) as test:
            for test_case in test.test_cases():
                test_case.evaluate_result(vector["generated"])
        check(vector, test.results[0])


def check(vector, found):
    expected, name = wanted(vector), vector["name"]
    assert found.score == pytest.approx(expected["score"], abs=1e-6), name
    assert found.passed is expected["passed"], name
    assert found.reasoning == expected["reasoning"], name
    assert found.evaluation_method == expected["evaluation_method"], name
    assert found.evaluation_metadata == expected["metadata"], name


def test_the_defects_that_are_not_copied_are_among_the_vectors(shared):
    assert SOUND.keys() <= {vector["name"] for vector in vectors(shared)}
