"""Scores of a judge held against scores of people."""

import random
from dataclasses import replace

import pytest

from evalmark.core.values.run import Metric
from evalmark.reports.text.graded_audit import graded_lines, graded_title
from evalmark.stats.agreement.corrected_rates import prediction_powered
from evalmark.stats.agreement.kappa_alpha import cohen_kappa
from evalmark.stats.calibration.evidence import label_scores
from evalmark.stats.calibration.graded_audit import GradedTruth, audit_scores, has_graded_scores, score_ranges

from .saying import label, of_output, result

METRIC = Metric(name="m", judge="a/x")
SOURCE = random.Random(3)  # noqa: S311  no secret
TRUTH = [SOURCE.betavariate(4, 2) for _ in range(300)]
RESULTS = [result(n, min(1.0, max(0.0, t + SOURCE.gauss(0.1, 0.1)))) for n, t in enumerate(TRUTH)]
LOWEST = sorted(range(300), key=lambda n: RESULTS[n].scores[0].value)


def audited(places, results=RESULTS, **more):
    scores = {results[n].trial.id: TRUTH[n % 300] for n in places}
    return audit_scores(results, METRIC, GradedTruth(scores=scores, source="scores of people", **more))


def test_the_judges_error_is_found_and_taken_out_of_its_mean():
    found = audited(range(80))
    assert 0.06 < found.difference < 0.13
    assert found.difference_interval.low > 0.05
    values = [one.scores[0].value for one in RESULTS]
    assert found.concordance == cohen_kappa(TRUTH[:80], values[:80], weighted=True)
    (one,) = found.means
    assert (one.outputs, one.labelled, one.is_random, found.is_told) == (300, 80, True, True)
    assert one.powered == prediction_powered(TRUTH[:80], values[:80], values[80:])
    true = sum(TRUTH) / 300
    assert one.raw > true + 0.05
    assert one.stratified.interval.low < true < one.stratified.interval.high
    assert abs(one.stratified.value - true) < 0.03
    lines = dict(graded_lines(found, "r1"))
    assert graded_title(found) == "m, judged by a/x, against scores of people"
    assert lines["assumes"].startswith("labels were chosen at random within each range of scores")
    assert "next" not in lines


def test_labels_on_the_lowest_scores_are_weighted_or_refused():
    found = audited([*LOWEST[:60], *LOWEST[60::12]])
    (one,) = found.means
    assert (one.is_random, one.powered.value) == (False, None)
    assert "not drawn at random" in one.powered.interval.method
    assert abs(one.stratified.value - sum(TRUTH) / 300) < 0.05
    lines = dict(graded_lines(found, "r1"))
    assert "of the labelled outputs only, which were not drawn at random" in lines["difference"]
    assert lines["next"].startswith("evalmark label r1 --sample 80")
    few = audited(LOWEST[:60])
    (one,) = few.means
    assert (few.is_told, one.stratified.value) == (False, None)
    assert one.stratified.interval.high > 0.8
    assert "no estimate: a range of scores has no label" in " ".join(text for _, text in graded_lines(few, "r1"))


def test_drawn_labels_are_random_whatever_they_score():
    found = audited(LOWEST[:60], is_drawn=True)
    assert found.means[0].is_random
    assert "drawn at random by evalmark" in dict(graded_lines(found, "r1"))["drawn"]


def test_each_target_has_a_mean_of_its_own_and_errors_have_none():
    results = [replace(one, trial=replace(one.trial, target="ab"[n % 2])) for n, one in enumerate(RESULTS)]
    results[0] = replace(results[0], output=replace(results[0].output, error="E: late"))
    found = audited(range(60), results)
    assert [(one.target, one.outputs, one.labelled) for one in found.means] == [("b", 150, 30), ("a", 149, 29)]


def test_without_labels_nothing_is_told():
    found = audited([])
    assert (found.outputs, found.difference, found.concordance, found.is_told) == (0, None, None, False)
    (one,) = found.means
    assert one.stratified.interval.method == "none: 0 labelled cases; at least 10 are needed"


def test_a_metric_is_graded_if_it_has_scores_between_the_ends():
    assert has_graded_scores(RESULTS, "m")
    assert not has_graded_scores([result(1, 0.0), result(2, 1.0), result(3, None)], "m")


@pytest.mark.parametrize(
    "values", [[0.5] * 20, [n / 20 for n in range(20)], [0, 0.25, 0.5, 0.75, 1] * 4, [0.1] * 19 + [1]]
)
def test_each_range_has_a_fifth_of_the_scores(values):
    ranges = score_ranges(values)
    assert len(set(ranges)) <= 5
    assert all(5 * ranges.count(one) >= len(values) for one in ranges)
    assert sorted(zip(values, ranges, strict=True)) == list(zip(sorted(values), sorted(ranges), strict=True))


def test_the_last_score_of_each_person_counts():
    one, other = RESULTS[:2]
    said = [
        replace(of_output("r1", one, None, by="ann", at=1), score=0.2),
        replace(of_output("r1", one, None, by="ann", at=2), score=0.4),
        replace(of_output("r1", one, None, by="bob", at=3), score=0.8),
        replace(label("score:r1/x/m", "in 1", "out 1", None, at=4), score=0.0),
        of_output("r1", other, True, at=5),
    ]
    assert label_scores(RESULTS, said) == {one.trial.id: pytest.approx(0.6)}
