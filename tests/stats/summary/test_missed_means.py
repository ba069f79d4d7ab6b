"""Where a gate fails on a mean, the trials furthest below it are those to look at first."""

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.terminal.run_report import run_screen
from evalmark.stats.summary.summarise import summarise


def run(gate, *rows, direction="higher", judge=""):
    """A run with these scores: of `close` without a threshold, and of `right`, which passes or fails."""
    results = [
        Result(
            trial=Trial(case=Case(id=f"c{number}", input="x"), dataset="d", target="app", position=number),
            output=Output(value="y"),
            scores=(
                Score(name="close", raw=close, value=close, direction=direction),
                *([] if right is None else [Score(name="right", raw=right, value=float(right), passed=right)]),
            ),
        )
        for number, (close, right) in enumerate(rows)
    ]
    metrics = (Metric(name="close", direction=direction, judge=judge), Metric(name="right"))
    return Run(
        id="r", name="bot", created="2026-11-22T00:00:00Z", target="app", metrics=metrics, gate=gate, results=results
    )


def looked_at(found):
    return [result.trial.case.id for result in summarise(found).worst]


ROWS = [(0.9, None), (0.2, None), (0.5, None), (0.1, None)]
PASSING = [(close, True) for close, _ in ROWS]


@pytest.mark.parametrize(
    "gate", [Gate(thresholds={"close": 0.6}), Gate(min_score=0.6)], ids=["a threshold of the gate", "the least mean"]
)
@pytest.mark.parametrize("rows", [ROWS, PASSING], ids=["nothing passes or fails", "every trial passes"])
@pytest.mark.parametrize("judge", ["", "openai/judge"], ids=["computed", "judged"])
def test_the_worst_cases_are_those_furthest_below_the_mean(gate, rows, judge):
    found = run(gate, *rows, judge=judge)
    assert summarise(found).missed == ("close",)
    assert looked_at(found) == ["c3", "c1", "c2"] + (["c0"] if rows is ROWS else [])
    text = run_screen(found)
    shown = text.partition("worst cases")[2]
    assert [word for word in shown.split() if word.startswith("c") and word[1:].isdigit()][:3] == ["c3", "c1", "c2"]
    assert "close 0.100" in " ".join(shown.split())


def test_where_lower_is_better_those_above_it_are_worst():
    found = run(Gate(thresholds={"close": 0.3}), *ROWS, direction="lower")
    assert looked_at(found)[:2] == ["c0", "c2"]


def test_trials_that_fail_the_gate_come_before_a_mean():
    rows = [(0.9, False), (0.2, True), (0.5, True), (0.1, True)]
    assert looked_at(run(Gate(thresholds={"close": 0.6}), *rows)) == ["c0", "c3", "c1", "c2"]
    lenient = Gate(thresholds={"close": 0.6}, min_pass_rate=0.5)
    assert looked_at(run(lenient, *rows)) == ["c3", "c1", "c2", "c0"]


def test_a_mean_that_is_reached_shows_no_case_that_passes():
    found = run(Gate(thresholds={"close": 0.3}), *PASSING)
    assert (summarise(found).missed, looked_at(found)) == ((), [])


def test_several_judges_of_one_metric_are_each_held_to_its_mean():
    score = [Score(name=f"close [{judge}]", raw=value, value=value) for judge, value in (("a", 0.2), ("b", 0.9))]
    metrics = tuple(Metric(name=one.name, judge=one.name[-2], base="close") for one in score)
    trial = Trial(case=Case(id="c0", input="x"), dataset="d")
    results = [Result(trial=trial, output=Output(value="y"), scores=tuple(score))]
    found = Run(id="r", name="bot", created="", metrics=metrics, gate=Gate(thresholds={"close": 0.5}), results=results)
    assert summarise(found).missed == ("close [a]",)
    assert looked_at(found) == ["c0"]
