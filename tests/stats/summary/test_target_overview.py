"""Targets side by side: which tests count where, and what cannot be judged."""

from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.stats.inference.intervals import wilson
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.target_overview import overview
from tests.reports.text import sides

FOUND = {standing.target: standing for standing in overview(sides.RUN).standings}


def test_targets_stand_in_the_order_met():
    assert [*FOUND] == ["openai/large", "openai/small", sides.HOSTILE]


def test_targets_stand_in_the_order_in_which_they_were_named():
    named = replace(sides.RUN, target="openai/small, openai/large")
    found = overview(named)
    assert [one.target for one in found.standings] == ["openai/small", "openai/large", sides.HOSTILE]
    assert (found.differences[0].first, found.differences[0].second) == ("openai/small", "openai/large")
    groups = [group.target for group in summarise(named).groups if not group.left_out]
    assert list(dict.fromkeys(groups)) == ["openai/small", "openai/large", sides.HOSTILE]


@pytest.mark.parametrize(
    ("portion", "trials", "judged", "compliant"),
    [
        pytest.param("tests", 20, 18, 9, id="all tests of rules; errors are left out of the share"),
        pytest.param("positive", 10, 10, 6, id="tests of rules"),
        pytest.param("negative", 10, 8, 3, id="tests of their inverses"),
        pytest.param("baseline", 8, 8, 5, id="baseline tests stand apart"),
        pytest.param("valid", 18, 16, 9, id="without the invalid one"),
        pytest.param("counted", 16, 14, 7, id="and without the one of an ungrounded rule"),
    ],
)
def test_each_portion_of_a_target_has_its_tests(portion, trials, judged, compliant):
    found = getattr(FOUND["openai/small"], portion)
    assert (found.trials, found.compliant.n, found.compliant.passed) == (trials, judged, compliant)


def test_what_nobody_could_judge_is_counted_beside_the_shares():
    assert [(s.unscored, s.errors) for s in FOUND.values()] == [(1, 0), (0, 2), (1, 0)]


def test_other_metrics_are_over_the_tests_of_rules_and_know_what_they_lack():
    (clear,) = FOUND["openai/small"].metrics
    assert (clear.name, clear.n, clear.missing, clear.judge) == ("clear", 18, 2, "openai/judge")
    assert clear.raw_mean == pytest.approx(sum(95 - 3 * n for n in range(9)) / 9)


def test_repeats_of_a_test_are_clustered():
    assert FOUND["openai/small"].positive.compliant.interval.method == "Jeffreys, clustered by case"


def test_every_two_targets_are_compared_on_the_counted_tests_at_a_level_that_holds_for_all():
    found = [d for d in overview(sides.RUN).differences if not d.metric]
    assert [(d.first, d.second) for d in found] == [
        ("openai/large", "openai/small"),
        ("openai/large", sides.HOSTILE),
        ("openai/small", sides.HOSTILE),
    ]
    assert [(d.n, d.alone) for d in found] == [(7, 1), (8, 0), (7, 1)]
    assert {round(d.interval.level, 6) for d in found} == {round(1 - 0.05 / 3, 6)}
    assert [d.outcome for d in found] == ["cannot tell", "better", "cannot tell"]


def graded(values: dict[str, list[float]], **more) -> Run:
    """A run of one metric from 0 to 1: for each target, the value of each case."""
    return run(
        *(
            replace(base, scores=(Score(name="clear", raw=value, value=value, **more),))
            for target, column in values.items()
            for number, value in enumerate(column)
            for base in [result(str(number), True, target=target)]
        ),
        metrics=(),
    )


@pytest.mark.parametrize(
    ("direction", "value", "outcome"),
    [
        pytest.param("higher", 0.3, "better", id="higher is better"),
        pytest.param("lower", -0.3, "worse", id="lower is better"),
    ],
)
def test_other_metrics_are_compared_by_how_well_each_target_did(direction, value, outcome):
    column = [n / 40 for n in range(20)]
    found = graded({"a": [x + 0.3 + (n % 5) / 100 for n, x in enumerate(column)], "b": column}, direction=direction)
    (difference,) = overview(found).differences
    assert (difference.metric, difference.n, difference.outcome) == ("clear", 20, outcome)
    assert difference.value == pytest.approx(value, abs=0.03)


def test_values_outside_0_to_1_are_not_compared():
    assert overview(graded({"a": [5.0, 7.0], "b": [2.0, 3.0]})).differences == ()


def test_trials_that_cannot_pass_are_not_called_unscored():
    assert [(s.unscored, s.tests.compliant.n) for s in overview(graded({"a": [0.5], "b": [0.4]})).standings] == [
        (0, 0)
    ] * 2


def test_the_one_metric_that_decides_is_compared_once():
    rows = [result(str(n), n > 1, target=t, name="equals") for n in range(4) for t in "ab"]
    assert [d.metric for d in overview(run(*rows, metrics=())).differences] == [""]


def result(case: str, passed, *, target="a", name="compliance", tags=("positive",), dataset="d", **metadata):
    score = Score(name=name, passed=passed, value=None if passed is None else float(passed))
    return Result(
        trial=Trial(case=Case(id=case, tags=tags, metadata=metadata), dataset=dataset, target=target),
        output=Output(value="x"),
        scores=(replace(score, status="unscored") if passed is None else score,),
    )


COMPLIANCE = (Metric(name="compliance"),)


def run(*results, metrics=COMPLIANCE) -> Run:
    return Run(id="r", name="r", created="", metrics=metrics, results=results)


JUDGES = tuple(Metric(name=f"compliance [{judge}]", judge=judge, base="compliance") for judge in "xy")


@pytest.mark.parametrize(
    ("said", "compliant"),
    [
        pytest.param((True, True), (1, 1), id="both say so"),
        pytest.param((True, False), (0, 1), id="one says not"),
        pytest.param((True, None), (0, 0), id="one could not tell"),
        pytest.param((None, False), (0, 1), id="one could not tell, the other says not"),
    ],
)
def test_with_several_judges_an_output_complies_when_all_say_so(said, compliant):
    scores = [result("1", passed, name=metric.name).scores[0] for passed, metric in zip(said, JUDGES, strict=True)]
    both = replace(result("1", True), scores=tuple(scores))
    (standing,) = overview(run(both, metrics=JUDGES)).standings
    assert (standing.tests.compliant.passed, standing.tests.compliant.n) == compliant
    assert standing.metrics == ()


def test_without_the_metric_compliance_the_verdict_of_the_trial_decides():
    found = overview(run(result("1", True, name="equals"), result("2", False, name="equals"), metrics=()))
    (standing,) = found.standings
    assert (found.has_compliance, standing.tests.compliant.passed, standing.tests.compliant.n) == (False, 1, 2)
    assert [metric.name for metric in standing.metrics] == ["equals"]


def test_cases_of_one_id_in_two_datasets_are_two():
    rows = [result("1", passed, target=t, dataset=d) for t, passed in (("a", True), ("b", False)) for d in "xy"]
    (found,) = overview(run(*rows)).differences
    assert (found.n, found.up) == (2, 2)


def test_a_run_whose_tests_are_not_told_apart_is_not_split():
    found = overview(run(result("1", True, tags=()), result("1", True, tags=(), target="b")))
    assert not found.split
    assert found.standings[0].valid.trials == 0
    assert found.standings[0].counted.compliant.interval == wilson(1, 1)


def test_an_overview_of_nothing_is_empty():
    assert overview(run()).standings == overview(run()).differences == ()
