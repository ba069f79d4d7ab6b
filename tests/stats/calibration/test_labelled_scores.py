"""Scores beside what is known of the outputs: the same figures as those of an audit."""

import random

import pytest

from evalmark import Case, Output, Result, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.stats.calibration.audit import audit_judge
from evalmark.stats.calibration.audit_results import GroundTruth
from evalmark.stats.calibration.labelled_scores import LabelledScores

METRICS = (Metric(name="correct", judge="m"), Metric(name="polite"))


def results(n=60, repeats=1):
    draw = random.Random(5)  # noqa: S311  the same every time
    for case in range(n):
        for repeat in range(repeats):
            value = draw.random()
            scores = [Score(name="correct", raw=value, value=value, passed=value >= 0.5)]
            if case % 7 == 0:
                scores = [Score(name="correct", status="unscored")]
            if case % 3:
                scores.append(Score(name="polite", raw=True, value=1.0, passed=None))
            trial = Trial(case=Case(id=f"c{case}"), dataset="d", repeat=repeat)
            error = "broke" if case % 11 == 5 else None
            yield Result(trial=trial, output=Output(value="x", error=error), scores=tuple(scores))


def truths_of(found):
    draw = random.Random(6)  # noqa: S311  the same every time
    return {result.trial.id: draw.random() < 0.6 for result in found if draw.random() < 0.8}


@pytest.mark.parametrize("repeats", [1, 3])
def test_figures_are_those_of_an_audit(repeats):
    every = list(results(repeats=repeats))
    truths = truths_of(every)
    known = LabelledScores(METRICS, lambda result: truths.get(result.trial.id))
    for result in every:
        known.add(result)
    found = {one.metric.name: one for one in known.separated()}
    for metric in METRICS:
        one, audit = found[metric.name], audit_judge(every, metric, GroundTruth(verdicts=truths, source="people"))
        for figure in ("confusion", "agreement", "kappa", "kappa_interval", "alpha", "alpha_interval", "ac1"):
            assert getattr(one.compared, figure) == getattr(audit, figure), figure
        assert one.unjudged == audit.unjudged


def test_values_are_told_apart_by_what_is_known():
    every = [r for r in results() if r.trial.id]
    truths = truths_of(every)
    known = LabelledScores(METRICS[:1], lambda result: truths.get(result.trial.id))
    for result in every:
        known.add(result)
    (one,) = known.separated()
    for is_good, values in ((True, one.good), (False, one.bad)):
        expected = [
            r.scores[0].value
            for r in every
            if truths.get(r.trial.id) is is_good and r.output.error is None and r.scores[0].value is not None
        ]
        assert list(values) == expected


def test_of_what_nobody_knows_there_is_nothing():
    known = LabelledScores(METRICS, lambda _: None)
    for result in results():
        known.add(result)
    assert known.outputs == 0
    assert known.separated() == ()
