"""Whether scores have moved since others were collected."""

import random

import pytest
from scipy.stats import ks_2samp, mannwhitneyu

from evalmark.stats.inference.shift import POINTS, distribution_shift, score_distribution


def drawn(seed, n, mean=0.5, deviation=0.12):
    source = random.Random(seed)  # noqa: S311  no secret
    return [source.gauss(mean, deviation) for _ in range(n)]


@pytest.mark.parametrize("later", ["the same", "higher", "wider"])
def test_both_tests_are_those_of_scipy(later):
    earlier = [round(20 * x) / 20 for x in drawn(1, 120)]
    later = [
        round(20 * x) / 20 for x in drawn(2, 200, *{"the same": (), "higher": (0.56,), "wider": (0.5, 0.3)}[later])
    ]
    assert len(set(earlier)) <= POINTS
    found = distribution_shift(score_distribution(earlier), later)
    ranks = mannwhitneyu(later, earlier, use_continuity=False, method="asymptotic")
    distance = ks_2samp(later, earlier)
    assert found.higher == pytest.approx(ranks.statistic / (len(later) * len(earlier)))
    assert found.apart == pytest.approx(distance.statistic)
    assert found.p == pytest.approx(min(1.0, 2 * min(ranks.pvalue, distance.pvalue)), rel=0.15, abs=0.01)


def test_many_scores_become_few_points_and_say_nearly_the_same():
    earlier, later = drawn(1, 5000), drawn(2, 500, 0.51)
    known = score_distribution(earlier)
    found = distribution_shift(known, later)
    assert (len(known.points), known.n, known.is_exact) == (POINTS, 5000, False)
    assert found.higher == pytest.approx(mannwhitneyu(later, earlier).statistic / (500 * 5000), abs=0.002)
    assert found.apart == pytest.approx(ks_2samp(later, earlier).statistic, abs=0.05)


@pytest.mark.parametrize("step", [-0.5, 0.5])
def test_a_shift_of_half_a_deviation_is_found_and_none_is_mostly_not(step):
    false = missed = 0
    for seed in range(60):
        earlier = score_distribution(drawn(2 * seed, 100))
        false += distribution_shift(earlier, drawn(2 * seed + 1, 200)).p < 0.05
        missed += distribution_shift(earlier, drawn(2 * seed + 1, 200, 0.5 + step * 0.12)).p >= 0.05
    assert false <= 8  # 3 expected
    assert missed <= 12


def test_scores_between_known_steps_are_neither_the_upper_nor_the_lower_one():
    earlier = score_distribution([0.25, 0.5, 0.75] * 40)
    moved = distribution_shift(earlier, [0.15, 0.4, 0.65] * 40)
    assert moved.p < 0.001
    assert moved.higher == pytest.approx(0.5 - 1 / 6)


def test_repeats_count_as_what_they_are_worth():
    earlier = drawn(1, 100)
    once, thrice = score_distribution(earlier), score_distribution(earlier * 3, [*range(100)] * 3)
    assert (once.effective, thrice.effective) == (100, pytest.approx(100, rel=0.02))
    later = drawn(2, 60, 0.57)
    alone = distribution_shift(once, later).p
    assert distribution_shift(thrice, later * 3, [*range(60)] * 3).p == pytest.approx(alone, rel=0.1)
    assert distribution_shift(once, later * 3).p < alone / 2


def test_few_scores_and_equal_ones_tell_nothing():
    known = score_distribution([0.5] * 20)
    assert score_distribution([]) is None
    assert distribution_shift(known, []) is None
    assert distribution_shift(known, [0.5] * 9) is None
    assert distribution_shift(known, [0.5] * 10).p == 1
    assert distribution_shift(known, [0.4] * 10).p < 0.001


def test_scores_that_fall_from_a_common_value_into_a_gap_raise_an_alarm():
    before = score_distribution([1.0] * 60 + [0.0] * 10 + [n / 100 for n in range(30)])
    later = [1.0] * 120 + [0.0] * 20 + [n / 200 for n in range(60)]
    assert distribution_shift(before, later).p == 1
    assert distribution_shift(before, [score - 0.2 * (score == 1) for score in later]).p < 1e-6
    assert len(before.points) <= 20
