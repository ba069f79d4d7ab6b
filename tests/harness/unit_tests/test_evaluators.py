"""Evaluators of the user's own."""

import asyncio
import math

import pytest

from evalmark.errors import ConfigError
from evalmark.harness.unit_tests.evaluation import CosineScoreEvaluationStrategy, EvaluationStrategyBase
from evalmark.unit_tests import TestCaseResult, UnitTest

from .recorded import cosine, good, near


class Fixed(EvaluationStrategyBase):
    """Says what it was told to say."""

    def __init__(self, **fields):
        self.fields = fields

    @property
    def evaluation_method(self):
        return "fixed"

    def evaluate(self, generated_result, test_case):
        return TestCaseResult(test_case=test_case, **self.fields)


def verdict(strategy, **options):
    unit_test = UnitTest("x", evaluation=strategy, raise_on_failure=False, **options).for_test_cases([near()])
    with unit_test as test:
        next(test.test_cases()).evaluate(good)
    (kept,) = unit_test.run.results
    return test.results[0], kept


@pytest.mark.parametrize(
    ("fields", "score", "passed", "status"),
    [
        pytest.param({"score": 0.5, "passed": True}, 0.5, True, "scored", id="S0.9: a score that passes"),
        pytest.param({"score": 0.5, "passed": False}, 0.5, False, "scored", id="S0.9: a score that does not"),
        pytest.param({"passed": True}, None, True, "scored", id="S0.12: no score"),
        pytest.param({"score": math.nan, "passed": True}, None, False, "unscored", id="NaN is no score"),
        pytest.param({"score": math.inf, "passed": True}, None, False, "unscored", id="neither is infinity"),
        pytest.param({"score": "0.9", "passed": True}, None, False, "unscored", id="nor a text"),
        pytest.param({"score": {"a": 1}, "passed": True}, None, False, "unscored", id="nor a mapping"),
        pytest.param({"score": 0.9, "passed": None}, None, False, "unscored", id="passed has to be said"),
        pytest.param({"score": 0.9, "passed": True, "error_description": "down"}, None, False, "error", id="an error"),
    ],
)
def test_s0_9_an_evaluator_of_the_users_has_its_word(world, fields, score, passed, status):
    found, kept = verdict(Fixed(**fields))
    assert (found.score, found.passed) == (score, passed)
    assert (kept.scores[0].name, kept.scores[0].status) == ("fixed", status)
    assert kept.scores[0].value is None or not math.isnan(kept.scores[0].value)


def test_nan_is_refused_with_its_reason(world):
    found, kept = verdict(Fixed(score=math.nan, passed=True, reasoning="0 of 0 words"))
    assert "nan" in found.reasoning
    assert "0 of 0 words" in found.reasoning
    assert (kept.verdict, kept.scores[0].reason) == ("unscored", found.reasoning)


def test_s0_12_what_an_evaluator_says_is_kept(world):
    found, kept = verdict(Fixed(score=0.5, passed=True, reasoning="half", evaluation_metadata={"words": 3}))
    assert (found.reasoning, found.order, found.generated_result, found.evaluation_method) == (
        "half",
        1,
        "deg=0",
        "fixed",
    )
    assert (kept.scores[0].reason, dict(kept.scores[0].detail)) == ("half", {"words": 3})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(None, "has to return a TestCaseResult", id="S0.9: nothing"),
        pytest.param(0.7, "returned 0.7", id="S0.9: a number"),
        pytest.param(
            TestCaseResult(test_case=near(9), passed=True), "the result of another case", id="S0.6: another case"
        ),
    ],
)
def test_an_evaluator_that_gives_something_else_is_said(world, given, said):
    class Odd(Fixed):
        def evaluate(self, generated_result, test_case):
            return given

    with pytest.raises(ConfigError, match=said):
        verdict(Odd())


def test_what_an_evaluator_raises_fails_the_case_and_goes_on_unless_told(world):
    class Broken(Fixed):
        def evaluate(self, generated_result, test_case):
            raise LookupError("no reference")

    with pytest.raises(LookupError):
        verdict(Broken())
    with UnitTest("x", Broken(), raise_on_failure=False).for_test_cases([near(), near(1)]) as test:
        for test_case in test.test_cases():
            test_case.evaluate(good, continue_on_error=True)
    assert [r.error_description for r in test.results] == ["LookupError: no reference"] * 2


def test_an_evaluator_may_be_async(world):
    class Later(Fixed):
        async def evaluate(self, generated_result, test_case):
            await asyncio.sleep(0)
            return TestCaseResult(test_case=test_case, passed=generated_result == "deg=0")

    assert verdict(Later())[0].passed


def test_a_subclass_of_the_cosine_strategy_may_ask_it_first(world):
    class Twice(CosineScoreEvaluationStrategy):
        def __init__(self, **settings):
            super().__init__(**settings)
            self.asked = 0

        @property
        def evaluation_method(self):
            return "twice"

        def evaluate(self, generated_result, test_case):
            self.asked += 1
            return super().evaluate(generated_result, test_case)

    strategy = Twice(embed_function=cosine().embed_function)
    found, kept = verdict(strategy)
    assert (strategy.asked, found.passed, found.evaluation_method, kept.scores[0].name) == (1, True, "twice", "twice")


def test_a_strategy_without_its_two_parts_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        EvaluationStrategyBase()
