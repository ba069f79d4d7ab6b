"""Labels whose outputs somebody chose, and labels whose outputs evalmark drew."""

from dataclasses import replace

import pytest

from evalmark.core.values.label import LabelSample
from evalmark.core.values.run import Metric
from evalmark.stats.calibration.audit import audit_judge
from evalmark.stats.calibration.audit_results import GroundTruth
from evalmark.stats.calibration.evidence import evidence_from_results
from evalmark.stats.calibration.threshold_calibration import FalsePassLimit, calibration_scores, learn_thresholds

from .saying import of_output, result

METRIC = Metric(name="m", judge="a/x", version="v1")
RESULTS = [result(n, n / 300, passed=n >= 100) for n in range(300)]


def is_good(n):
    return n % 10 > 0 if n >= 100 else n % 5 == 0


def labels(places):
    return [of_output("r1", RESULTS[n], is_good(n)) for n in places]


def sample(places, **more):
    trials = tuple(RESULTS[n].trial.id for n in places)
    return LabelSample(
        **{"run": "r1", "trials": trials, "outputs": 300, "created": "2026-11-22T00:00:00+00:00", **more}
    )


def evidence(places, *samples):
    return replace(evidence_from_results("r1", RESULTS, labels(places)), samples=samples)


def audited(places, *samples, **more):
    found = evidence(places, *samples)
    told = {one.key: one.liked for one in found.labelled}
    return audit_judge(RESULTS, METRIC, GroundTruth(verdicts=told, source="people", evidence=found, **more))


EVERY_THIRD, FAILED = range(0, 300, 3), range(80)


def test_an_audit_uses_all_labels_where_evalmark_drew_none():
    found = audited(EVERY_THIRD)
    assert (found.drawn, found.is_told, found.is_random, found.confusion.n) == (None, True, True, 100)
    (rate,) = found.rates
    assert (rate.choice.labelled_passed, rate.choice.passed, rate.choice.labelled_failed) == (66, 200, 34)
    assert rate.stratified.value == pytest.approx((200 * 60 / 66 + 100 * 7 / 34) / 300, abs=0.02)
    assert rate.powered.value == pytest.approx(rate.stratified.value, abs=0.01)


def test_an_audit_of_labels_on_failed_outputs_has_no_number():
    found = audited(FAILED)
    (rate,) = found.rates
    assert (found.is_told, found.is_random) == (False, False)
    assert [one.value for one in (rate.stratified, rate.powered, rate.adjusted)] == [None] * 3
    assert rate.sure is None
    assert rate.stratified.interval.low < 0.1 < 0.7 < rate.stratified.interval.high
    assert found.weighted.value is None


def test_drawn_labels_suffice_and_others_are_set_aside():
    found = audited(sorted({*EVERY_THIRD, *FAILED}), sample(EVERY_THIRD))
    assert (found.drawn.used, found.drawn.set_aside, found.drawn.skipped, found.drawn.by_verdict) == (100, 53, 0, False)
    assert (found.is_random, found.confusion.n) == (True, 100)
    whole = audited(sorted({*EVERY_THIRD, *FAILED}), sample(EVERY_THIRD), use_all=True)
    assert (whole.drawn, whole.is_random, whole.confusion.n) == (None, False, 153)


def test_the_first_of_a_sample_are_a_sample_and_a_gap_is_counted():
    order = [*EVERY_THIRD[::2], *EVERY_THIRD[1::2]]
    assert audited(order[:60], sample(order)).drawn.skipped == 0
    assert audited(order[20:60], sample(order)).drawn.skipped == 20


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(sample(EVERY_THIRD, by_verdict="other"), id="by the verdict of another metric"),
        pytest.param(sample(EVERY_THIRD, outputs=200), id="before all outputs were there"),
        pytest.param(sample(EVERY_THIRD[:5]), id="too few"),
        pytest.param(sample(FAILED), id="of one verdict"),
    ],
)
def test_samples_that_do_not_suffice_are_no_samples(odd):
    found = audited(sorted({*EVERY_THIRD, *FAILED}), odd)
    assert (found.drawn, found.confusion.n) == (None, 153)


def test_of_a_sample_by_verdict_only_the_stratified_rate_is_known():
    found = audited([*range(100, 140), *range(40)], sample([*range(100, 140), *range(40)], by_verdict="m"))
    (rate,) = found.rates
    assert (found.drawn.by_verdict, found.is_told, found.is_random) == (True, True, False)
    assert (rate.powered.value, rate.adjusted.value) == (None, None)
    assert rate.stratified.value == pytest.approx((200 * 36 / 40 + 100 * 8 / 40) / 300)


def learned(places, *samples):
    found = calibration_scores(RESULTS, [METRIC], by_case=False, run="r1", embedder="")
    (one,) = learn_thresholds(
        "run", "r1", FalsePassLimit(max_false_pass=0.4), evidence(places, *samples), found
    ).metrics
    return one


def test_a_threshold_is_learned_from_labels_that_score_as_the_other_outputs_do():
    one = learned(EVERY_THIRD)
    assert one.learned.threshold is not None
    assert (one.is_random, one.set_aside) == (False, 0)
    assert one.scores.n == 300


def test_no_threshold_is_learned_from_labels_on_low_scores():
    one = learned(range(120))
    assert one.learned.threshold is None
    assert one.learned.reason.startswith("the labelled outputs score otherwise than the other outputs of the run")
    assert one.learned.bound is None


def test_drawn_labels_take_the_place_of_chosen_ones_where_all_together_are_refused():
    one = learned(sorted({*EVERY_THIRD, *range(110)}), sample(EVERY_THIRD))
    assert one.learned.threshold == learned(EVERY_THIRD).learned.threshold
    assert (one.is_random, one.set_aside) == (True, 73)
    assert learned(EVERY_THIRD, sample(EVERY_THIRD)).is_random


def test_labels_that_were_drawn_from_a_part_of_the_run_are_not_known_to_be_random():
    one = learned(EVERY_THIRD, sample(EVERY_THIRD[:80], outputs=150), sample(EVERY_THIRD[80:], outputs=150))
    assert not one.is_random
    assert one.learned.threshold == learned(EVERY_THIRD).learned.threshold


def test_with_every_output_labelled_nothing_is_assumed():
    assert learned(range(300)).is_random


def test_outputs_on_one_document_count_once_for_a_threshold():
    found = calibration_scores(
        RESULTS,
        [METRIC],
        by_case=False,
        run="r1",
        embedder="",
        cluster_name=lambda trial: str(trial.position // 15),
    )
    (one,) = learn_thresholds("run", "r1", FalsePassLimit(), evidence(range(300)), found).metrics
    assert (one.learned.threshold, one.learned.bad_cases) == (None, 20)
    assert one.scores.effective < 30
