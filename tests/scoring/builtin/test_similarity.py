"""The cosine rule, its golden vectors, and the scorer around it."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case, Example, Similarity
from evalmark.errors import ConfigError
from evalmark.scorers import CosineRule
from evalmark.scoring.builtin.similarity import ComparedExample, closest_example, comparison_text

from .asking import Angles, ask


def at(cosine: float | None, *, liked: bool = True) -> ComparedExample:
    return ComparedExample(
        example=Example(value="x", liked=liked), cosine=cosine, mismatch="" if cosine is not None else "no"
    )


@pytest.mark.parametrize(
    ("compared", "score", "passed"),
    [
        pytest.param([at(0.95)], 0.95, True, id="close to a liked example"),
        pytest.param([at(0.85)], 0.85, False, id="not close enough to a liked example"),
        pytest.param([at(0.8999999)], 0.8999999, True, id="a cosine of 0.9 stored as 0.8999999 counts as 0.9"),
        pytest.param([at(0.89999)], 0.89999, False, id="a cosine clearly below 0.9 does not"),
        pytest.param([at(-0.4)], 0.0, False, id="opposite to a liked example is 0"),
        pytest.param([at(0.95, liked=False)], 0.05, False, id="too close to a disliked example"),
        pytest.param([at(0.9, liked=False)], 0.1, True, id="just far enough from a disliked example"),
        pytest.param([at(0.0, liked=False)], 1.0, True, id="unlike a disliked example"),
        pytest.param([at(-1.0, liked=False)], 1.0, True, id="exactly opposite to the only, disliked, example"),
        pytest.param([at(0.92), at(0.95, liked=False)], 0.05, False, id="the closer disliked example decides"),
        pytest.param([at(0.95, liked=False), at(0.95)], 0.95, True, id="a liked example wins a tie"),
        pytest.param([at(0.5), at(0.85, liked=False)], 0.15, False, id="closer to disliked cannot pass beside liked"),
        pytest.param([at(0.5), at(0.97)], 0.97, True, id="the closest of two liked examples decides"),
        pytest.param([at(None), at(0.97)], 0.97, True, id="an example of another type is left out"),
        pytest.param([at(None), at(0.1, liked=False)], 0.0, False, id="no liked example could be compared"),
        pytest.param([at(None)], 0.0, False, id="nothing could be compared"),
        pytest.param([at(1.0000002)], 1.0, True, id="rounding above 1 is cut"),
    ],
)
def test_the_closest_example_decides(compared, score, passed):
    found = closest_example(compared, CosineRule())
    assert found.passed is passed
    assert found.score == pytest.approx(score, abs=1e-12)


def test_without_the_guard_a_far_enough_disliked_example_passes():
    compared = [at(0.5), at(0.85, liked=False)]
    assert closest_example(compared, CosineRule(liked_guard=False)).passed
    assert closest_example(compared, CosineRule()).guarded


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.booleans()), min_size=1),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_the_score_is_always_from_0_to_1_and_order_does_not_matter(items, positive, negative):
    rule = CosineRule(positive=positive, negative=negative)
    compared = [at(cosine, liked=liked) for cosine, liked in items]
    found = closest_example(compared, rule)
    assert 0 <= found.score <= 1
    assert found.cosine == max(cosine for cosine, _ in items)
    turned = closest_example(compared[::-1], rule)
    assert (turned.score, turned.passed, turned.example.liked) == (found.score, found.passed, found.example.liked)


@given(st.lists(st.floats(-1, 1), min_size=1), st.lists(st.floats(-1, 1), min_size=1))
def test_beside_a_liked_example_nothing_closer_to_a_disliked_one_passes(liked, disliked):
    found = closest_example([*map(at, liked), *(at(c, liked=False) for c in disliked)], CosineRule())
    assert not (found.passed and max(disliked) > max(liked))


DIFFERENCES = {
    "one positive, cos exactly 0.90 (float edge)": (
        {"passed": True},
        "thresholds are met within 1e-6, so the edge does not depend on rounding",
    ),
    "pos 0.50 + neg 0.85: negative closer -> 0.15 -> PASS although the output matches no liked example": (
        {"passed": False},
        "where liked examples exist, an output closer to a disliked one cannot pass",
    ),
    "type mismatch in ANY output fails whole case (second would match)": (
        {"score": 0.99, "passed": True, "reasoning": None},
        "one example of another type does not end the case",
    ),
}
"""Where Similarity differs on purpose from the vectors, and why."""


def golden(shared):
    return json.loads((shared / "data/promptwatch/cosine_cases.json").read_text(encoding="utf-8"))["cases"]


def test_the_golden_vectors_pass(shared):
    cases = golden(shared)
    assert len(cases) == 17
    assert DIFFERENCES.keys() <= {case["name"] for case in cases}
    for case in cases:
        wanted = {**case["expected"], **DIFFERENCES.get(case["name"], ({}, ""))[0]}
        own = {
            "positive": case["strategy"].get("positive_score_threshold", 0.9),
            "negative": case["strategy"].get("negative_score_threshold", 0.1),
            "auto_unwrap": case["strategy"].get("auto_unwrap_dict", True),
        }
        examples = tuple(Example(value=o["value"], liked=o["label"] == 1) for o in case["outputs"])
        score = ask(Similarity(**own), case["generated"], examples=examples)
        assert score.passed is wanted["passed"], case["name"]
        assert score.value == pytest.approx(wanted["score"], abs=1e-6), case["name"]
        if wanted["reasoning"]:
            assert wanted["reasoning"].replace(" \n ", "; ") in score.reason, case["name"]
        closest = wanted["metadata"].get("closest_reference_example")
        if closest:
            found = score.detail["closest"]
            assert (found["label"] == "liked", found["value"]) == (closest["label"] == 1, closest["value"])


def test_without_the_guard_the_golden_vector_that_it_changes_passes_too(shared):
    name = "pos 0.50 + neg 0.85: negative closer -> 0.15 -> PASS although the output matches no liked example"
    case = next(case for case in golden(shared) if case["name"] == name)
    examples = tuple(Example(value=o["value"], liked=o["label"] == 1) for o in case["outputs"])
    assert ask(Similarity(liked_guard=False), case["generated"], examples=examples).passed is True


@pytest.mark.parametrize(
    ("answer", "case", "why"),
    [
        pytest.param("deg=0", {}, "no liked or disliked example", id="no examples"),
        pytest.param("zero", {"expected": "deg=0"}, "zero vector", id="the output has no direction"),
        pytest.param("deg=0", {"expected": "zero"}, "zero vector", id="the example has no direction"),
    ],
)
def test_what_cannot_be_compared_is_unscored(answer, case, why):
    score = ask(Similarity(), answer, **case)
    assert (score.status, score.value, score.passed) == ("unscored", None, None)
    assert why in score.reason


def test_all_texts_are_asked_for_at_once():
    embedder = Angles()
    examples = (Example(value="deg=10"), Example(value={"text": "deg=20"}), Example(value="deg=90", liked=False))
    ask(Similarity(), "deg=5", embedder=embedder, expected="deg=0", examples=examples)
    assert embedder.requests == [["deg=5", "deg=0", "deg=10", "deg=20", "deg=90"]]


def test_nothing_is_embedded_where_nothing_can_be_compared():
    embedder = Angles()
    score = ask(Similarity(), 5, embedder=embedder, expected="deg=0")
    assert not embedder.requests
    assert (score.value, score.passed) == (0.0, False)
    assert score.reason == "the output 5 cannot be compared: Type mismatch (expected str, got int)"


def test_mappings_are_compared_by_canonical_json():
    embedder = Angles()
    score = ask(Similarity(), {"b": 1, "a": "deg=0"}, embedder=embedder, expected={"a": "deg=0", "b": 1})
    assert embedder.requests == [['{"a":"deg=0","b":1}', '{"a":"deg=0","b":1}']]
    assert score.raw == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("answer", "example", "mismatch"),
    [
        pytest.param("a", "b", "", id="two texts"),
        pytest.param(1, 1.5, "", id="two numbers"),
        pytest.param([1], (1,), "", id="two sequences"),
        pytest.param("a", {"x": "b"}, "", id="a text beside a mapping of one text"),
        pytest.param(
            "a", {"x": 1}, "Type mismatch (expected int, got str)", id="a text beside a mapping of one number"
        ),
        pytest.param("a", {"x": "b", "y": "c"}, "Type mismatch (expected dict, got str)", id="a text beside a mapping"),
        pytest.param(None, "b", "Type mismatch (expected str, got NoneType)", id="no answer"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, "Missing keys: {'b'}", id="a key is missing"),
        pytest.param({"a": 1, "b": 1}, {"a": 1}, "Unexpected keys: {'b'}", id="a key too many"),
        pytest.param({"a": 1}, {"c": 1}, "Missing keys: {'c'} \n Unexpected keys: {'a'}", id="other keys"),
    ],
)
def test_only_things_of_one_kind_are_compared(answer, example, mismatch):
    assert comparison_text(answer, example)[1] == mismatch


def test_a_threshold_on_the_metric_replaces_the_rule_but_not_the_guard():
    liked, both = {"expected": "deg=30"}, {"expected": "deg=60", "examples": (Example(value="deg=30", liked=False),)}
    assert ask(Similarity(), "deg=0", **liked).passed is False
    assert ask(Similarity(), "deg=0", threshold=0.8, **liked).passed is True
    assert ask(Similarity(), "deg=0", threshold=0.0, **both).passed is False
    assert "0.9 is required" in ask(Similarity(), "deg=0", **liked).reason
    assert "is required" not in ask(Similarity(), "deg=0", threshold=0.8, **liked).reason
    assert ask(Similarity(), "deg=0", threshold=0.8, **liked).reason.startswith("cosine 0.")


def test_the_detail_names_the_deciding_example():
    score = ask(Similarity(), "deg=0", expected="deg=60", examples=(Example(value="deg=30", liked=False),))
    assert score.detail["closest"] == {"label": "disliked", "value": "deg=30", "cosine": pytest.approx(math.sqrt(0.75))}
    assert score.raw == pytest.approx(math.sqrt(0.75))
    assert score.value == pytest.approx(1 - math.sqrt(0.75))
    assert (
        score.reason
        == "cosine 0.866 (higher than to any liked example) to the disliked 'deg=30'; the output is 'deg=0'"
    )


@pytest.mark.parametrize("setting", ["positive", "negative"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_a_threshold_out_of_range_is_refused(setting, value):
    with pytest.raises(ConfigError, match=f"similarity: `{setting}` is .*; it has to be a number from 0 to 1"):
        Similarity(**{setting: value})


def test_the_expected_answer_counts_as_liked():
    case = Case(id="1", expected="a", examples=(Example(value="b"), Example(value="c", liked=False)))
    assert case.liked == ("a", "b")
