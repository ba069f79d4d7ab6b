"""The figures of each tag: those of a run of only the cases with the tag."""

from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo
from evalmark.core.values.score import Trial
from evalmark.reports.text.numbers import lowest_first
from evalmark.stats.summary.collection import TAGS
from evalmark.stats.summary.summarise import summarise


def result(position, passed, *tags, repeat=0, error=None, **metadata):
    score = Score(name="m", raw=passed, value=None if passed is None else float(passed), passed=passed)
    case = Case(id=f"c{position}", input=f"question {position}", tags=tags, metadata=metadata)
    trial = Trial(case=case, dataset="d", target="t", position=position, repeat=repeat)
    scores = () if error else (score if passed is not None else replace(score, status="skipped"),)
    return Result(trial=trial, output=Output(error=error), scores=scores)


def run(*results, **fields):
    return Run(id="r", name="n", created="", results=results, **fields)


MIXED = (
    result(0, True, "refund", document=0),
    result(1, False, "refund", "hard"),
    result(2, None, "refund"),
    result(3, None, "hard", error="TimeoutError: 30 s"),
    result(4, True),
    result(5, True, "refund", repeat=0),
    result(5, False, "refund", repeat=1),
    *(result(number, number % 3 > 0, "easy", document=number // 4) for number in range(6, 26)),
)


@pytest.mark.parametrize("tag", ["refund", "hard", "easy"])
@pytest.mark.parametrize("cluster", ["", "document"])
def test_a_tag_has_the_figures_of_a_run_of_its_cases(tag, cluster):
    datasets = (DatasetInfo(name="d", rows=26, cluster=cluster),)
    alone = summarise(run(*(one for one in MIXED if tag in one.trial.case.tags), datasets=datasets)).total
    found = summarise(run(*MIXED, datasets=datasets)).by_tag[tag]
    assert found == alone
    assert found.trials == sum(tag in one.trial.case.tags for one in MIXED)


@pytest.mark.parametrize(
    ("results", "tags"),
    [
        pytest.param([result(0, True), result(1, True)], [], id="no tags"),
        pytest.param([result(0, True, "a"), result(1, True, "a")], [], id="a tag of all trials says nothing"),
        pytest.param([result(0, True, "a"), result(1, True, "a", "b")], ["b"], id="a tag of some trials"),
        pytest.param([result(0, True, "a", "a"), result(1, True)], ["a"], id="a tag that a case has twice"),
        pytest.param(
            [result(0, True, "a", rule="One word.", valid=False), result(1, True), result(2, True, "b")],
            ["b"],
            id="trials that the headline leaves out",
        ),
        pytest.param(
            [result(n, True, f"tag {n}") for n in range(TAGS)], [f"tag {n}" for n in range(TAGS)], id="many tags"
        ),
        pytest.param([result(n, True, f"tag {n}") for n in range(TAGS + 1)], [], id="ids in place of tags"),
    ],
)
def test_tags_that_have_figures(results, tags):
    assert list(summarise(run(*results)).by_tag) == tags


def test_a_tag_that_a_case_has_twice_counts_once():
    assert summarise(run(result(0, True, "a", "a"), result(1, True))).by_tag["a"].trials == 1


def test_the_lowest_pass_rate_comes_first_and_tags_without_one_last():
    results = [result(0, None, "x"), result(1, True, "a"), result(2, False, "b"), result(3, True, "b"), result(4, True)]
    assert [tag for tag, _ in lowest_first(summarise(run(*results)).by_tag)] == ["b", "a", "x"]
