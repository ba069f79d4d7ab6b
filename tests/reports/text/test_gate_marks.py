"""Which metrics a page marks as those that made the gate fail."""

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.text.gate_marks import gate_marks, group_misses, trials_decided
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise


def run(gate, **targets):
    """Each target has a list of outputs, or one for each dataset: an error, or a verdict of `contains` and a value of `tone` that cannot fail."""
    results = [
        Result(
            trial=Trial(case=Case(id=f"c{n}", input="?"), dataset=dataset, target=target, position=n),
            output=Output(error="broke") if said is None else Output(value="text"),
            scores=()
            if said is None
            else (
                Score(name="contains", raw=said[0], value=float(said[0]), passed=said[0]),
                Score(name="tone", value=said[1], passed=said[2] if len(said) > 2 else None),
            ),
        )
        for target, found in targets.items()
        for dataset, outputs in (found if isinstance(found, dict) else {"d": found}).items()
        for n, said in enumerate(outputs)
    ]
    metrics = (Metric(name="contains"), Metric(name="tone"))
    return Run(id="r", name="r", created="", metrics=metrics, gate=gate, results=results)


def causes(gate, **targets):
    """The metrics of each target that are marked, and why."""
    one = run(gate, **targets)
    summary = summarise(one)
    marks = gate_marks(summary, gate, apply_gate(summary, gate))
    return [
        (group.target, metric.name, cause)
        for group in summary.counted
        for metric in group.metrics
        if (cause := marks[metric.name].cause(metric, group.target))
    ]


GOOD, BAD = (True, 0.9), (False, 0.9)


@pytest.mark.parametrize(
    ("gate", "targets", "marked"),
    [
        pytest.param(
            Gate(min_pass_rate=0.5, thresholds={"tone": 0.7}),
            {"kind": [GOOD, GOOD], "rude": [(True, 0.6), (True, 0.6)]},
            [("rude", "tone", "mean misses the gate")],
            id="a mean is missed by the target whose mean is too low",
        ),
        pytest.param(
            Gate(min_pass_rate=0.5, thresholds={"tone": 0.7}),
            {
                "kind": {"d": [(True, 0.6)], "e": [(True, 0.9)]},
                "rude": {"d": [(True, 0.5)], "e": [(True, 0.8)]},
            },
            [("rude", "tone", "mean misses the gate")],
            id="a low mean of one dataset is none of a target whose mean over all datasets is high enough",
        ),
        pytest.param(
            Gate(min_pass_rate=0.5, min_score=0.7),
            {"kind": {"d": [(True, 0.6)], "e": [(True, 0.9)]}, "rude": [(True, 0.9)]},
            [("kind", "tone", "mean misses the gate")],
            id="the least score is one of each dataset",
        ),
        pytest.param(
            Gate(min_pass_rate=0.8),
            {"one": [GOOD, GOOD], "two": [BAD, BAD]},
            [("two", "contains", "most failures")],
            id="failures are those of the target that has some",
        ),
        pytest.param(
            Gate(min_pass_rate=0.8, max_errors=2, thresholds={"tone": 0.95}),
            {"one": [GOOD, GOOD, GOOD, BAD, None, None]},
            [("one", "tone", "mean misses the gate")],
            id="no failures where the missing trials could still raise the pass rate",
        ),
        pytest.param(
            Gate(min_pass_rate=0.9, thresholds={"tone": 0.95}),
            {"one": [(False, 0.9, True), (False, 0.9, True), (True, 0.5, False)]},
            [("one", "contains", "most failures"), ("one", "tone", "mean misses the gate")],
            id="a mean that is missed by a metric with few failures",
        ),
        pytest.param(
            Gate(min_pass_rate=0.9, thresholds={"contains": 0.8}),
            {"one": [GOOD, BAD]},
            [("one", "contains", "mean misses the gate")],
            id="a mean that is missed comes before most failures",
        ),
        pytest.param(Gate(min_pass_rate=0.5), {"one": [GOOD, BAD]}, [], id="nothing where the gate passes"),
    ],
)
def test_a_metric_is_marked_where_it_made_the_gate_fail(gate, targets, marked):
    assert causes(gate, **targets) == marked


def test_a_group_that_is_folded_names_the_metrics_whose_mean_made_the_gate_fail():
    gate = Gate(min_pass_rate=0.9, thresholds={"tone": 0.95})
    one = summarise(run(gate, kind=[(True, 1.0, True)], rude=[(False, 0.9, True), (True, 0.5, False)]))
    marks = gate_marks(one, gate, apply_gate(one, gate))
    assert {group.target: group_misses(group, marks) for group in one.counted} == {
        "kind": "",
        "rude": "mean misses the gate: tone",
    }


def test_trials_decide_only_if_the_gate_fails_because_of_them():
    gate = Gate(min_pass_rate=0.8, max_errors=2, thresholds={"tone": 0.95})
    one = summarise(run(gate, one=[GOOD, GOOD, GOOD, BAD, None, None]))
    verdict = apply_gate(one, gate)
    assert verdict.outcome == "fail"
    assert not any("judged trials passed" in reason for reason in verdict.reasons)
    assert not trials_decided(one, gate, verdict)
