"""A test while it goes on: case after case, and what goes wrong in one."""

import pytest

from evalmark.errors import ConfigError
from evalmark.unit_tests import CaseUnderTest, UnitTest, UnitTestSession

from .recorded import bad, cosine, good, near, quiet, run, used


def test_s0_4_a_case_has_inputs_and_outputs(world):
    with quiet() as test:
        (test_case,) = [one for one in test.test_cases() if one.evaluate_result("deg=0") is not None]
    assert isinstance(test, UnitTestSession)
    assert isinstance(test_case, CaseUnderTest)
    assert test_case.inputs == {"question": 0}
    assert [(o.label, o.value) for o in test_case.outputs] == [(1, "liked 0 deg=5")]


def test_s0_4_the_function_gets_the_inputs_as_one_argument(world):
    seen = []
    with quiet(2) as test:
        for test_case in test.test_cases():
            test_case.evaluate(lambda given: seen.append(given) or "deg=0")
    assert seen == [{"question": 0}, {"question": 1}]


def test_a_function_that_changes_its_inputs_changes_nothing_else(world):
    unit_test = quiet()
    test = run(unit_test, lambda inputs: inputs.clear() or "deg=0")
    assert test.results[0].test_case.inputs == {"question": 0}
    assert [result.trial.case.input for result in unit_test.run.results] == [{"question": 0}]


def test_s0_6_the_next_case_comes_when_this_has_a_result(world):
    with quiet(2) as test:
        cases = test.test_cases()
        first = next(cases)
        with pytest.raises(ConfigError, match="has no result yet"):
            next(cases)
        first.evaluate_result("deg=0")
        next(test.test_cases()).evaluate_result("deg=0")
    assert [result.order for result in test.results] == [1, 2]


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(lambda one: one.evaluate(good), id="evaluate"),
        pytest.param(lambda one: one.evaluate_result("deg=0"), id="evaluate_result"),
        pytest.param(lambda one: one.mark_as_failed("no"), id="mark_as_failed"),
        pytest.param(lambda one: one.skip(), id="skip"),
    ],
)
@pytest.mark.parametrize("pending", [False, True])
def test_s0_6_a_case_that_is_not_the_pending_one_takes_no_result(world, again, pending):
    with quiet(2) as test:
        first = next(test.test_cases())
        first.evaluate_result("deg=0")
        second = next(test.test_cases()) if pending else None
        with pytest.raises(ConfigError, match="has a result or was skipped"):
            again(first)
        if second is not None:
            second.evaluate_result("deg=0")
    assert len(test.results) == 1 + pending


def test_s0_6_a_case_that_is_being_evaluated_is_not_evaluated_inside_of_it(world):
    with quiet() as test:
        test_case = next(test.test_cases())
        with pytest.raises(ConfigError, match="being evaluated already"):
            test_case.evaluate(lambda given: test_case.evaluate_result("deg=0"))
    assert "being evaluated already" in test.results[0].error_description


def test_s0_7_skip_leaves_cases_out_and_gives_them(world):
    unit_test = quiet(6)
    with unit_test as test:
        cases = test.test_cases()
        next(cases)
        assert [given.inputs["question"] for given in test.skip(2)] == [0, 1]
        next(cases).skip()
        next(cases).evaluate_result("deg=0")
        assert [given.inputs["question"] for given in test.skip(9)] == [4, 5]
        assert list(cases) == []
    assert [result.order for result in test.results] == [4]
    assert "5 cases were skipped." in unit_test.run.notes
    assert unit_test.run.status == "complete"


def test_s0_7_a_skipped_case_is_not_scored_against_another_one(world):
    with quiet(2) as test:
        first = next(test.test_cases())
        first.skip()
        with pytest.raises(ConfigError, match="was skipped"):
            first.evaluate_result("deg=0")


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_s0_7_skip_takes_a_number_of_cases(world, n):
    with quiet() as test, pytest.raises(ConfigError, match="whole number"):
        test.skip(n)


def broken(inputs):
    raise ValueError("no such city")


def test_s0_5_what_the_function_raises_fails_the_case_and_goes_on_to_the_caller(world):
    unit_test = quiet(3)
    with pytest.raises(ValueError, match="no such city"):
        run(unit_test, broken)
    (result,) = unit_test.run.results
    assert (result.verdict, result.output.error) == ("error", "ValueError: no such city")
    assert unit_test.run.status == "interrupted"
    assert any("2 cases were not evaluated" in note for note in unit_test.run.notes)


def test_s0_5_continue_on_error_goes_on(world):
    with quiet(3) as test:
        for test_case in test.test_cases():
            test_case.evaluate(broken if test_case.inputs["question"] == 1 else good, continue_on_error=True)
    assert [(r.passed, r.score is None, r.error_description) for r in test.results] == [
        (True, False, None),
        (False, True, "ValueError: no such city"),
        (True, False, None),
    ]


def test_the_store_keeps_where_a_tested_function_raised(world):
    unit_test = quiet()
    with unit_test as test:
        for test_case in test.test_cases():
            test_case.evaluate(broken, continue_on_error=True)
    (result,) = unit_test.run.results
    line = broken.__code__.co_firstlineno + 1
    assert result.output.metadata["raised_at"].endswith(f":{line}")
    assert "in broken" in result.output.metadata["traceback"]


def test_s0_5_a_missing_input_of_a_chain_comes_with_a_hint_about_the_memory(world):
    def chain(inputs):
        raise ValueError("Missing some input keys: {'history'}")

    with pytest.raises(ValueError, match="Missing some input keys") as raised:
        run(quiet(), chain)
    assert any("get_test_memory" in note for note in raised.value.__notes__)


def test_s0_4_mark_as_failed_fails_the_case(world):
    with quiet() as test:
        for test_case in test.test_cases():
            test_case.mark_as_failed("it spoke of prices")
    assert [(r.passed, r.error_description) for r in test.results] == [(False, "it spoke of prices")]


def test_a_case_that_is_given_up_is_one_of_the_function_under_test(world):
    unit_test = quiet(2)
    with unit_test as test:
        for test_case in test.test_cases():
            test_case.evaluate(good) if test_case.inputs["question"] == 0 else test_case.mark_as_failed("no")
    assert {result.trial.target for result in unit_test.run.results} == {unit_test.run.target}


def left_in_the_middle(test):
    for _ in test.test_cases():
        raise KeyError("mine")


def test_s0_33_an_exception_inside_of_the_block_is_not_masked_and_fails_the_pending_case(world):
    unit_test = quiet(2)
    with pytest.raises(KeyError, match="mine"):
        used(unit_test, left_in_the_middle)
    (result,) = unit_test.run.results
    assert result.output.error == "KeyError: 'mine'"


def test_s0_33_an_exception_wins_over_failing_cases(world):
    unit_test = UnitTest("x", cosine()).for_test_cases([near(), near(1)])

    def fails(test):
        next(test.test_cases()).evaluate(bad)
        left_in_the_middle(test)

    with pytest.raises(KeyError):
        used(unit_test, fails)


def test_s0_33_a_case_that_is_left_without_a_result_has_failed(world):
    with quiet(2) as test:
        for _ in test.test_cases():
            break
    assert [(r.passed, r.error_description) for r in test.results] == [
        (False, "it has no result, since the test ended before")
    ]


def test_ctrl_c_inside_of_the_function_ends_the_test_and_keeps_what_was_found(world):
    def stopped(inputs):
        if inputs["question"] == 1:
            raise KeyboardInterrupt
        return "deg=0"

    unit_test = quiet(3)
    with pytest.raises(KeyboardInterrupt):
        run(unit_test, stopped)
    assert [result.verdict for result in unit_test.run.results] == ["pass", "error"]
    assert unit_test.run.status == "interrupted"
