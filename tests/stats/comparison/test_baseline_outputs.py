"""What an earlier run answered to the trials of a run."""

from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.score import Trial
from evalmark.stats.comparison.baseline_outputs import BaselineOutput, baseline_outputs


def result(case, answer, passed=True, **trial):
    judged = (
        Score(name="m", status="unscored") if passed is None else Score(name="m", value=float(passed), passed=passed)
    )
    scores = (judged,)
    return Result(trial=Trial(case=case, **trial), output=Output(value=answer), scores=scores)


def run(*results, name="now"):
    return Run(id=name, name=name, created="", results=results)


def earlier(now, then):
    found = baseline_outputs(compare(now, then), now.results, then)
    return [found.get(one.trial.id) for one in now.results]


ONE, OTHER = Case(id="1", input="a"), Case(id="2", input="b")


@pytest.mark.parametrize(
    ("now", "then", "values"),
    [
        pytest.param([result(ONE, "x")], [result(ONE, "y")], ["y"], id="the same case"),
        pytest.param([result(ONE, "x")], [result(replace(ONE, id="9"), "y")], ["y"], id="under another id"),
        pytest.param([result(ONE, "x")], [result(OTHER, "y")], [None], id="no such case"),
        pytest.param(
            [result(ONE, "x")], [result(replace(ONE, input="c"), "y")], [None], id="the id with another content"
        ),
        pytest.param(
            [result(ONE, "x"), result(replace(ONE, id="3"), "x")],
            [result(ONE, "y"), result(replace(ONE, id="3"), "z")],
            ["y", "z"],
            id="twins go by their ids",
        ),
        pytest.param(
            [result(replace(ONE, id="5"), "x")],
            [result(ONE, "y"), result(replace(ONE, id="3"), "z")],
            [None],
            id="several could be meant",
        ),
        pytest.param(
            [result(ONE, "x", repeat=1)], [result(ONE, "y"), result(ONE, "z", repeat=1)], ["z"], id="the same repeat"
        ),
        pytest.param(
            [result(ONE, "x", target="new")], [result(ONE, "y", target="old")], ["y"], id="each run has one target"
        ),
        pytest.param(
            [result(ONE, "x", target="a"), result(ONE, "x", target="b")],
            [result(ONE, "y", target="b"), result(ONE, "z", target="c")],
            [None, "y"],
            id="targets go by their names where there are several",
        ),
    ],
)
def test_a_case_is_known_again_by_what_it_asks(now, then, values):
    found = earlier(run(*now), run(*then, name="then"))
    assert [one and one.value for one in found] == values


@pytest.mark.parametrize(
    ("was", "now", "outcome"),
    [
        pytest.param(True, False, "worse", id="passed and fails now"),
        pytest.param(False, True, "better", id="failed and passes now"),
        pytest.param(True, True, "same", id="as it was"),
        pytest.param(True, None, "other", id="nobody judges it now"),
    ],
)
def test_what_became_of_an_answer_is_told_by_whether_it_passed(was, now, outcome):
    (found,) = earlier(run(result(ONE, "x", now)), run(result(ONE, "x", was), name="then"))
    assert found.outcome(result(ONE, "x", now)) == outcome


def test_another_answer_with_the_same_verdict_is_neither_worse_nor_the_same():
    assert BaselineOutput("y", None, "pass").outcome(result(ONE, "x")) == "other"
