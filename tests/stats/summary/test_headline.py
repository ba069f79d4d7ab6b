"""What is left out of the headline: which tests, and that the figures, the gate and the comparisons agree on them."""

from dataclasses import replace

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score, compare
from evalmark.core.values.score import Trial
from evalmark.stats.summary.collection import left_out
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.target_overview import overview
from tests.reports.text import sides

TEST = {"rule": "One word.", "ruleid": 1}


@pytest.mark.parametrize(
    ("tags", "metadata", "why"),
    [
        pytest.param((), TEST, None, id="a test that nobody has marked"),
        pytest.param((), {**TEST, "valid": True, "grounded": True}, None, id="a valid test of a grounded rule"),
        pytest.param((), {**TEST, "valid": None, "grounded": None}, None, id="nobody could tell"),
        pytest.param((), {**TEST, "valid": False}, "invalid", id="its input is not valid"),
        pytest.param((), {**TEST, "grounded": False}, "ungrounded", id="its rule is not grounded"),
        pytest.param(
            (), {**TEST, "valid": False, "grounded": False}, "invalid", id="neither: the input is what counts"
        ),
        pytest.param((), {"ruleid": None, "baseline": True}, "baseline", id="a baseline test"),
        pytest.param(("baseline",), {"rule": None}, "baseline", id="a baseline test by its tag"),
        pytest.param(
            (), {**TEST, "baseline": True, "valid": False}, "baseline", id="a baseline test that is not valid"
        ),
        pytest.param((), {"valid": False}, None, id="a column of that name in a dataset of other cases"),
        pytest.param(("baseline",), {"baseline": True}, None, id="a baseline in a dataset of other cases"),
        pytest.param((), {**TEST, "valid": "false"}, None, id="a word is no mark"),
    ],
)
def test_a_test_of_a_prompt_is_left_out_where_it_is_marked(tags, metadata, why):
    assert left_out(Case(id="1", tags=tags, metadata=metadata)) == why


def result(position: int, passed: bool | None, *, name="m", error=None, **marks) -> Result:
    score = Score(name=name, raw=passed, value=None if passed is None else float(passed), passed=passed)
    trial = Trial(case=Case(id=f"c{position}", metadata={**TEST, **marks}), dataset="d", target="t", position=position)
    scores = () if error else (score if passed is not None else replace(score, status="unscored"),)
    return Result(trial=trial, output=Output(error=error), scores=scores)


def run(*results: Result) -> Run:
    return Run(id="r", name="n", created="", results=results)


MARKED = run(
    result(0, False, valid=False),
    result(1, True),
    result(2, None, grounded=False, error="TimeoutError: 30 s"),
    result(3, True),
    result(4, False, baseline=True),
    result(5, None, baseline=True),
)


def test_marked_trials_are_groups_of_their_own_behind_those_that_count():
    found = summarise(MARKED)
    assert [(group.left_out, group.tally.trials) for group in found.groups] == [
        (None, 2),
        ("invalid", 1),
        ("ungrounded", 1),
        ("baseline", 2),
    ]
    assert (found.total.trials, found.total.passed, found.total.failed, found.total.errors) == (2, 2, 0, 0)
    assert (found.left_out.trials, found.left_out.failed, found.left_out.errors) == (4, 2, 1)
    assert (found.trials, found.reasons) == (6, {"invalid": 1, "ungrounded": 1, "baseline": 2})
    assert found.worst == ()
    (metric,) = found.counted[0].metrics
    assert (metric.n, metric.mean, metric.missing) == (2, 1.0, 0)


def test_without_marks_all_trials_count():
    found = summarise(run(result(0, True), result(1, False)))
    assert (found.left_out, found.reasons, found.trials, found.counted) == (None, {}, 2, found.groups)


@pytest.mark.parametrize(
    "gate",
    [
        pytest.param(None, id="no gate"),
        pytest.param(Gate(min_pass_rate=1.0), id="a pass rate"),
        pytest.param(Gate(thresholds={"m": 1.0}), id="a threshold"),
        pytest.param(Gate(min_score=1.0), id="a mean of every metric"),
    ],
)
def test_the_gate_looks_at_the_trials_that_count(gate):
    assert apply_gate(summarise(MARKED), gate).outcome == "pass"
    counted = run(*(replace(r, trial=replace(r.trial, case=Case(id=r.trial.case.id))) for r in MARKED.results))
    assert apply_gate(summarise(counted), gate).outcome != "pass"


def test_a_gate_cannot_tell_where_nothing_counts():
    verdict = apply_gate(summarise(run(result(0, True, valid=False), result(1, True, baseline=True))), None)
    assert (verdict.exit_code, verdict.reasons) == (
        3,
        ("No trial counts; left out of the headline: 1 baseline, 1 not valid.",),
    )


def test_a_missing_row_may_still_count():
    stopped = replace(MARKED, status="interrupted", results=MARKED.results[:3])
    assert apply_gate(summarise(stopped), None).outcome == "cannot tell"


def test_the_overview_counts_the_same_tests():
    by_target = {standing.target: standing.counted.trials for standing in overview(sides.RUN).standings}
    assert {group.target: group.tally.trials for group in summarise(sides.RUN).counted} == by_target


def test_marked_tests_are_compared_with_no_earlier_run():
    earlier = run(*(result(position, True) for position in range(6)))
    (found,) = compare(MARKED, earlier).targets
    assert (found.flips, found.overall.difference.n) == ((), 2)
