"""The end of a test: what is printed, raised and kept."""

import math

import pytest

from evalmark import Output
from evalmark.errors import ConfigError, StoreError
from evalmark.harness.unit_tests.evaluation import CosineScoreEvaluationStrategy
from evalmark.store import open_store
from evalmark.unit_tests import UnitTest, UnitTestFailedError

from .recorded import bad, cosine, good, near, quiet, record, run, used


def test_s0_34_a_failing_case_fails_the_process_and_is_named(world):
    unit_test = UnitTest("capitals", cosine()).for_test_cases([near(), near(1, id="norway")])
    with pytest.raises(UnitTestFailedError) as raised:
        run(unit_test, lambda inputs: "deg=90" if inputs["question"] else "deg=0")
    said = str(raised.value)
    assert said.startswith("unit test 'capitals': 1 of 2 cases did not pass.")
    assert f"evalmark show {unit_test.run.id} --failed" in said
    assert (
        "norway (test case 2): score 0.087: cosine 0.087 (at least 0.9 is required) to the liked 'liked 1 deg=5'"
        in said
    )
    assert isinstance(raised.value, AssertionError)
    assert [result.test_case.id for result in raised.value.results] == ["norway"]


def test_an_unjudged_case_fails_the_process_too(world):
    with pytest.raises(UnitTestFailedError, match=r"not judged: .*zero vector"):
        run(UnitTest("x", cosine()).for_test_cases([near()]), "zero")


@pytest.mark.parametrize(
    ("use", "said"),
    [
        pytest.param(lambda test: None, "2 cases were not evaluated", id="nobody asked for cases"),
        pytest.param(lambda test: test.skip(2), "2 cases were skipped", id="all of them were skipped"),
    ],
)
def test_a_test_that_evaluated_nothing_is_no_pass(world, use, said):
    with pytest.raises(UnitTestFailedError, match=f"no case was evaluated.*{said}"):
        used(UnitTest("x", cosine()).for_test_cases([near(), near(1)]), use)


def test_many_failing_cases_are_counted(world):
    with pytest.raises(UnitTestFailedError, match=r"(?s)30 of 30 cases did not pass.*and 10 more"):
        run(UnitTest("x", cosine()).for_test_cases([near(n) for n in range(30)]), bad)


def test_texts_that_are_long_or_act_on_a_terminal_do_no_harm_in_the_error(world):
    unit_test = UnitTest("x", cosine()).for_test_cases([near(inputs={"q": "\x1b[31m" + "x" * 100_000})])
    with pytest.raises(UnitTestFailedError) as raised:
        run(unit_test, "deg=90 \x1b[31m" + "y" * 100_000)
    assert "\x1b" not in str(raised.value)
    assert len(str(raised.value)) < 2_000


def test_s0_31_the_facts_are_printed_at_the_end(world, capsys):
    with UnitTest("my test", cosine(), raise_on_failure=False).for_test_cases([near(n) for n in range(4)]) as test:
        for test_case in test.test_cases():
            n = test_case.inputs["question"]
            test_case.evaluate_result(("deg=5", "deg=65", "zero", "deg=5")[n])
    said = capsys.readouterr().out
    assert "Unit test my test finished in" in said
    assert "overall score 0.833 (mean of 3), 4 processed, 2 passed, 2 failed" in said
    assert "Stored in .evalmark/evalmark.db; show it with: evalmark show" in " ".join(said.split())
    assert "\x1b" not in said


def test_s0_30_the_mean_leaves_out_what_could_not_be_judged(world, capsys):
    with quiet(2) as test:
        for test_case in test.test_cases():
            test_case.mark_as_failed("no")
    assert "overall score none, 2 processed, 0 passed, 2 failed" in capsys.readouterr().out


def test_s0_13_the_run_is_in_the_store_as_any_other(world):
    record(world / ".evalmark" / "evalmark.db", {"input": {"q": 1}, "output": "x deg=5", "likes": [True]})
    unit_test = UnitTest("nightly", cosine(), raise_on_failure=False).for_project_sessions("demo")
    with unit_test as test:
        for test_case in test.test_cases():
            test_case.evaluate(good)
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        run = store.run("last")
        (result,) = run.results
    assert (run.id, run.name, run.status) == (unit_test.run.id, "nightly", "complete")
    assert [info.name for info in run.datasets] == ["demo"]
    assert run.target.endswith(":good")
    assert result.trial.target == run.target
    assert [(m.name, m.unit, bool(m.version)) for m in run.metrics] == [("cos_sim_score", "cosine", True)]
    assert result.scores[0].passed is True
    assert result.output.value == "deg=0"


@pytest.mark.parametrize(
    ("choose", "name"),
    [
        pytest.param(lambda t, world: t.for_test_cases([near()]), "test cases", id="a list"),
        pytest.param(lambda t, world: t.for_test_cases_in_file(world / "answers.jsonl"), "answers", id="a file"),
    ],
)
def test_s0_13_the_dataset_is_called_after_its_source(world, choose, name):
    line = '{"inputs": {"q": 1}, "outputs": [{"label": 1, "value": "deg=0"}]}'
    (world / "answers.jsonl").write_text(line, encoding="utf-8")
    unit_test = choose(UnitTest("x", cosine()), world)
    with unit_test as test:
        next(test.test_cases()).evaluate_result("deg=0")
    assert [(info.name, info.rows) for info in unit_test.run.datasets] == [(name, 1)]
    assert unit_test.run.target == "given answers"


def test_a_run_can_stay_out_of_the_store(world):
    unit_test = quiet(store=None)
    with unit_test as test:
        next(test.test_cases()).evaluate_result("deg=0")
    assert len(unit_test.run.results) == 1
    assert not (world / ".evalmark").exists()


def test_another_store_is_named_in_the_error(world):
    with pytest.raises(UnitTestFailedError, match=r"--failed --store other\.db"):
        run(UnitTest("x", cosine(), store="other.db").for_test_cases([near()]), bad)


def test_s0_32_a_store_that_cannot_be_written_does_not_mask_what_was_raised(world):
    unit_test = quiet()

    def breaks(test):
        unit_test._open.run_store.close()
        raise KeyError("mine")

    with pytest.raises(KeyError) as raised:
        used(unit_test, breaks)
    assert any("could not be stored" in note for note in raised.value.__notes__)


def test_s0_32_a_store_that_cannot_be_written_is_said(world):
    unit_test = quiet()

    def closes(inputs):
        unit_test._open.run_store.close()
        return "deg=0"

    with pytest.raises(StoreError):
        run(unit_test, closes)


def test_a_test_can_be_entered_again_but_not_inside_of_itself(world):
    unit_test = quiet()
    for _ in range(2):
        with unit_test as test:
            with pytest.raises(ConfigError, match="is running already"):
                unit_test.__enter__()
            next(test.test_cases()).evaluate_result("deg=0")
    assert len(unit_test.run.results) == 1


def test_what_evaluate_gives_has_the_fields_of_a_result(world):
    with quiet(2) as test:
        first, second = [one.evaluate(good) for one in test.test_cases()]
    assert (first.passed, second.order) == (True, 2)
    assert first.score == pytest.approx(math.cos(math.radians(5)))
    assert first.test_case.inputs == {"question": 0}
    assert first.response_time_ms >= 0
    assert "TestCaseResult(" in repr(first)
    with pytest.raises(AttributeError):
        _ = first.no_such_field


def test_an_output_says_more_than_its_value(world):
    with quiet(2) as test:
        for test_case in test.test_cases():
            n = test_case.inputs["question"]
            test_case.evaluate(lambda _, n=n: Output(value="deg=0") if n == 0 else Output(error="the server is down"))
    assert [(r.passed, r.error_description) for r in test.results] == [(True, None), (False, "the server is down")]


def test_an_embedder_that_breaks_is_an_error_of_its_cases(world):
    def broken_vectors(texts: list[str]):
        raise RuntimeError("no vectors today")

    strategy = CosineScoreEvaluationStrategy(embed_function=broken_vectors)
    with UnitTest("x", strategy, raise_on_failure=False).for_test_cases([near()]) as test:
        next(test.test_cases()).evaluate(good)
    (result,) = test.results
    assert not result.passed
    assert "no vectors today" in result.error_description


def test_each_text_is_embedded_once_and_kept_in_the_store(world):
    asked = []

    def vectors(texts: list[str]):
        asked.extend(texts)
        return [[1.0, 0.0]] * len(texts)

    for _ in range(2):
        with UnitTest("x", CosineScoreEvaluationStrategy(embed_function=_named(vectors))).for_test_cases(
            [near(), near(1)]
        ) as test:
            for test_case in test.test_cases():
                test_case.evaluate_result("the same")
    assert sorted(asked) == ["liked 0 deg=5", "liked 1 deg=5", "the same"]


def _named(function):
    """The function as an embedder that keeps its name."""

    class Named:
        fingerprint = "test:named"

        async def __call__(self, texts):
            import numpy as np

            return np.array(function(list(texts)), dtype=np.float32)

    return Named()
