"""Thresholds of metrics, from scores and labels."""

import pytest

from evalmark import Score
from evalmark.core.values.run import Metric
from evalmark.errors import ConfigError
from evalmark.scoring.binding.scores import fails_at_any_threshold
from evalmark.stats.agreement.threshold_learning import learn_threshold
from evalmark.stats.calibration.evidence import evidence_from_results
from evalmark.stats.calibration.threshold_calibration import (
    FalsePassLimit,
    calibration_scores,
    learn_thresholds,
    select_metrics,
    split_level,
)

from .saying import of_output, result, run_of


def learned(results, liked, promise=None, **metric):
    """What is learned of a run whose outputs these people like or not."""
    run = run_of(results, **metric)
    said = [of_output("r1", one, thumb) for one, thumb in zip(results, liked, strict=True) if thumb is not None]
    evidence = evidence_from_results("r1", run.results, said)
    known = calibration_scores(run.results, run.metrics, by_case=False, run="r1", embedder="e")
    return learn_thresholds("run", "r1", promise or FalsePassLimit(), evidence, known)


def spread(bad, good):
    """Results of so many bad and good outputs that their scores tell apart, and their labels."""
    results = [result(n, 0.1 + 0.3 * n / max(1, bad)) for n in range(bad)]
    results += [result(bad + n, 0.6 + 0.3 * n / max(1, good)) for n in range(good)]
    return results, [False] * bad + [True] * good


def test_a_threshold_is_what_the_inference_says():
    results, liked = spread(70, 40)
    found = learned(results, liked)
    (one,) = found.metrics
    expected = learn_threshold([r.scores[0].value for r in results], liked, 0.05)
    assert (one.learned.threshold, one.learned.bound) == (expected.threshold, expected.bound)
    assert found.is_kept
    assert (one.embedder, one.learned.good, one.learned.bad) == ("e", 40, 70)


@pytest.mark.parametrize(
    ("bad", "good", "missing", "why"),
    [
        pytest.param(0, 0, 59, "59 cases labelled bad are needed", id="no labels"),
        pytest.param(1, 0, 58, "and there are 1", id="one label"),
        pytest.param(2, 0, 57, "and there are 2", id="two labels"),
        pytest.param(0, 30, 59, "and there are 0", id="only thumbs up"),
        pytest.param(80, 0, 0, "nothing is labelled good", id="only thumbs down"),
        pytest.param(58, 30, 1, "and there are 58", id="one too few"),
    ],
)
def test_without_enough_labels_it_says_how_many_are_missing(bad, good, missing, why):
    found = learned(*spread(bad, good))
    (one,) = found.metrics
    assert not found.is_kept
    assert (one.learned.threshold, one.learned.missing) == (None, missing)
    assert why in one.learned.reason


def test_scores_that_are_all_equal_promise_nothing():
    results = [result(n, 0.5) for n in range(100)]
    (one,) = learned(results, [n % 2 == 0 for n in range(100)], FalsePassLimit(max_false_pass=0.5)).metrics
    assert one.learned.threshold is None
    assert one.learned.auc == 0.5


def test_what_could_not_be_judged_is_counted_and_not_used():
    results = [result(n, None) for n in range(80)]
    (one,) = learned(results, [False] * 80).metrics
    assert (one.unscored, one.learned.bad) == (80, 0)
    results, liked = spread(70, 40)
    (one,) = learned([*results, result(200, None)], [*liked, True]).metrics
    assert (one.unscored, one.learned.good) == (1, 40)


def test_numbers_that_are_none_are_left_out():
    results, liked = spread(70, 40)
    odd = [result(300 + n, value) for n, value in enumerate([float("nan"), float("inf"), 1.5, -0.1])]
    (one,) = learned([*results, *odd], [*liked, False, False, True, True]).metrics
    assert (one.unscored, one.learned.bad, one.learned.good) == (4, 70, 40)
    assert one.learned.threshold is not None


def test_outputs_that_cannot_pass_are_safe_whatever_the_threshold():
    bars = {"detail": {"positive": 0.9, "barred": True}}
    barred = [result(n, 0.95, **bars) for n in range(70)]
    good = [result(100 + n, 0.3 + n / 100) for n in range(20)]
    (one,) = learned([*barred, *good], [False] * 70 + [True] * 20).metrics
    assert (one.learned.threshold, one.barred, one.disliked) == (0.0, (0, 70), ())
    assert one.learned.in_sample.false_pass == 0
    assert fails_at_any_threshold(barred[0].scores[0])
    assert not fails_at_any_threshold(Score(name="m", detail={"barred": True}))


def test_where_lower_is_better_the_threshold_is_a_most():
    results = [result(n, 0.6 + n / 1000, direction="lower") for n in range(70)]
    results += [result(100 + n, 0.1 + n / 1000, direction="lower") for n in range(30)]
    (one,) = learned(results, [False] * 70 + [True] * 30, direction="lower").metrics
    assert one.learned.direction == "lower"
    assert 0.129 < one.learned.threshold < 0.6


def test_cases_count_once_however_many_outputs_they_have():
    results = [result(n, 0.1, case=1000 + n % 10) for n in range(100)]
    results += [result(200 + n, 0.9, case=2000 + n) for n in range(20)]
    (one,) = learned(results, [False] * 100 + [True] * 20).metrics
    assert (one.learned.bad, one.learned.bad_cases, one.learned.missing) == (100, 10, 49)


def test_several_metrics_share_the_level():
    assert split_level(0.95, 5) == pytest.approx(0.99)
    results, liked = spread(70, 40)
    run = run_of(results)
    evidence = evidence_from_results(
        "r1", results, [of_output("r1", one, up) for one, up in zip(results, liked, strict=True)]
    )
    two = (run.metrics[0], Metric(name="other"))
    known = calibration_scores(results, two, by_case=False, run="r1", embedder="")
    found = learn_thresholds("run", "r1", FalsePassLimit(), evidence, known)
    assert [one.learned.level for one in found.metrics] == [0.975, 0.975]
    assert found.metrics[0].learned.missing == 2  # 72 clean ones at this level
    assert found.metrics[1].unscored == 110


def test_metrics_are_known_by_their_name_and_by_their_judge():
    known = [Metric(name="kind [a/x]", base="kind", judge="a/x"), Metric(name="kind [b/y]", base="kind", judge="b/y")]
    assert select_metrics(known, ["kind"], [], "run r") == known
    assert select_metrics(known, ["kind"], ["b/y"], "run r") == known[1:]
    assert select_metrics(known, [], [], "run r") == known
    with pytest.raises(ConfigError, match=r"run r has no metric 'kin'; did you mean 'kind'\?"):
        select_metrics(known, ["kin"], [], "run r")
    with pytest.raises(ConfigError, match="kind was judged by a/x, b/y, not by c/z"):
        select_metrics(known, ["kind"], ["c/z"], "run r")
    with pytest.raises(ConfigError, match="it has no metric at all"):
        select_metrics([], ["kind"], [], "run r")


@pytest.mark.parametrize("wrong", [{"max_false_pass": 0.0}, {"max_false_pass": 1.0}, {"level": 1.5}])
def test_promises_lie_between_0_and_1(wrong):
    with pytest.raises(ConfigError, match="has to be between 0 and 1"):
        FalsePassLimit(**wrong)
