"""The interval of a mean of values with known ends, whatever their distribution."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats as scipy_stats

from evalmark.stats.inference.differences import difference
from evalmark.stats.inference.dirichlet import dirichlet_interval, jeffreys_interval
from evalmark.stats.inference.intervals import clopper_pearson


@pytest.mark.parametrize(("passed", "n"), [(0, 1), (1, 1), (3, 10), (10, 10), (50, 100), (1, 299)])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_of_zeros_and_ones_it_is_the_exact_binomial_interval(passed, n, level):
    found = dirichlet_interval([1.0] * passed + [0.0] * (n - passed), 0, 1, level)
    exact = clopper_pearson(passed, n, level)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-8)


@pytest.mark.parametrize(("passed", "n"), [(0, 1), (1, 1), (3, 10), (10, 10), (50, 100), (1, 299)])
def test_of_clusters_that_pass_as_a_whole_it_is_the_interval_of_jeffreys(passed, n):
    found = jeffreys_interval([1.0] * passed + [0.0] * (n - passed), [7.0] * n)
    low, high = scipy_stats.beta.ppf([0.025, 0.975], passed + 0.5, n - passed + 0.5)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-7)


def test_clusters_of_unequal_size_have_the_quantiles_of_randomly_weighted_shares():
    draw = np.random.default_rng(6)
    shares, sizes = draw.random(12).round(2), draw.integers(1, 9, 12)
    found = jeffreys_interval(shares.tolist(), sizes.tolist())
    weights = draw.exponential(size=(200_000, 12)) * sizes
    ends = draw.gamma(0.5, size=(2, 200_000)) * (sizes**2).sum() / sizes.sum()
    means = (weights @ shares + ends[0]) / (weights.sum(axis=1) + ends.sum(axis=0))
    assert (found.low, found.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.003)


def chance_below(at, values):
    """That a randomly weighted mean of 0 and distinct values is below `at`: the divided differences of a truncated power."""
    points, n = [Fraction(0), *map(Fraction, values)], len(values)
    above = Fraction(0)
    for i, point in enumerate(points):
        if point > at:
            others = math.prod(point - other for j, other in enumerate(points) if j != i)
            above += (point - Fraction(at)) ** n / others
    return float(1 - above)


def test_both_ends_are_the_quantiles_counted_out_in_fractions():
    draw = random.Random(2005)  # noqa: S311  luck, no secret
    for _ in range(60):
        values = sorted({draw.random() ** draw.choice([0.1, 1, 5]) for _ in range(draw.randrange(1, 14))})
        level = draw.choice([0.8, 0.95, 0.99])
        found = dirichlet_interval(draw.sample(values, len(values)), 0, 1, level)
        assert chance_below(found.low, values) == pytest.approx((1 - level) / 2, rel=1e-6)
        assert chance_below(1 - found.high, [1 - v for v in values]) == pytest.approx((1 - level) / 2, rel=1e-6)


def test_turned_round_stretched_and_reordered_values_have_the_same_interval():
    draw = random.Random(7)  # noqa: S311  luck, no secret
    values = [draw.uniform(-1, 1) for _ in range(40)]
    found = dirichlet_interval(values, -1, 1)
    turned = dirichlet_interval([-v for v in values], -1, 1)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))
    stretched = dirichlet_interval([200 + 50 * v for v in reversed(values)], 150, 250)
    assert (stretched.low, stretched.high) == pytest.approx((200 + 50 * found.low, 200 + 50 * found.high))


def test_of_many_different_values_it_is_close_to_student_and_gathered_values_change_little():
    values = np.random.default_rng(1).beta(5, 2, 5_000)
    found, rounded = dirichlet_interval(values.tolist(), 0, 1), dirichlet_interval(values.round(3).tolist(), 0, 1)
    half = 1.96 * values.std(ddof=1) / math.sqrt(5_000)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=5e-4)
    assert (found.low, found.high) == pytest.approx((rounded.low, rounded.high), abs=1e-4)


@pytest.mark.parametrize(
    ("values", "low", "high", "said"),
    [
        pytest.param([], 0, 1, "none: no values", id="no values"),
        pytest.param([0.5], 0.5, 0.5, "none: only one value is possible", id="no room"),
    ],
)
def test_where_there_is_none_it_says_why(values, low, high, said):
    assert dirichlet_interval(values, low, high).method == said


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_values_at_an_end_leave_that_end(end):
    found = dirichlet_interval([end] * 30, 0, 1)
    assert (found.low == 0.0) is (end == 0.0)
    assert (found.high == 1.0) is (end == 1.0)
    assert found.high - found.low == pytest.approx(1 - 0.025 ** (1 / 30))


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 20, 30, 100])
def test_a_drop_made_of_rare_falls_is_not_called_the_same(n):
    """At most 3.5 % of the draws, and some slack for their number; `benchmarks/comparison_errors.py` draws more."""
    source = np.random.default_rng(n)
    called = 0
    for _ in range(80):
        before = np.clip(0.98 + source.normal(0, 0.005, n), 0, 1)
        now = np.clip(0.98 + source.normal(0, 0.005, n) - 0.9 * (source.random(n) < 0.05 / 0.9), 0, 1)
        called += judged(now, before).outcome == "same"
    assert called <= 80 * 0.035 + 2.4 * math.sqrt(80 * 0.035)


def judged(now, before, **options):
    sides = ({("d", str(n)): float(value) for n, value in enumerate(side)} for side in (now, before))
    return difference(("now", "before"), *sides, **options)


def test_no_change_but_noise_is_called_the_same_from_a_hundred_cases_on():
    source = np.random.default_rng(28)
    draws = [[np.clip(0.98 + source.normal(0, 0.005, 100), 0, 1) for _ in range(2)] for _ in range(40)]
    assert sum(judged(*sides).outcome == "same" for sides in draws) >= 38


def test_too_few_cases_say_within_which_margin_they_show_the_same():
    source = np.random.default_rng(3)
    sides = [np.clip(0.98 + source.normal(0, 0.005, 30), 0, 1) for _ in range(2)]
    found = judged(*sides)
    assert found.outcome == "cannot tell"
    assert found.within == pytest.approx(0.12, abs=0.01)
    assert judged(*sides, margin=found.within + 1e-9).outcome == "same"
    assert 72 <= found.n + found.needed <= 90


def test_a_shift_of_all_cases_is_found_though_rare_values_are_unknown():
    before = [0.5 + n / 100 for n in range(30)]
    found = judged([value - 0.1 - n % 5 / 100 for n, value in enumerate(before)], before)
    assert (found.outcome, found.interval.method) == ("worse", "Student's t of differences")


def test_a_shift_within_the_margin_needs_cases_that_rule_out_rare_falls():
    few, many = ([0.9 + (i % 7) / 100 for i in range(n)] for n in (20, 200))
    assert judged([v - 0.004 - i % 3 / 1000 for i, v in enumerate(few)], few).outcome == "cannot tell"
    assert judged([v - 0.004 - i % 3 / 1000 for i, v in enumerate(many)], many).outcome == "same"


@pytest.mark.parametrize(("n", "outcome"), [(30, "cannot tell"), (100, "same")])
def test_values_without_known_ends_are_the_same_only_as_far_as_their_range_allows(n, outcome):
    before = [100.0 + i % 50 for i in range(n)]
    now = [value + (-1) ** i for i, value in enumerate(before)]
    found = judged(now, before, bounded=False, margin=0.05 * 51)
    assert (found.outcome, found.interval.method) == (outcome, "Dirichlet bound")
