"""Intervals of means: which method, against other libraries, and what may not change them."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from evalmark.stats.inference.intervals import wilson
from evalmark.stats.inference.means import clustered_error, mean, mean_interval, share_interval, skewness_caution

from .draws import rounds

Y = [1.0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1]
G = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
DRAW = random.Random(7)
GRADED = [DRAW.betavariate(5, 2) for _ in range(60)]
MANY = [DRAW.betavariate(5, 2) for _ in range(400)]


@pytest.mark.parametrize(
    ("values", "options", "method"),
    [
        pytest.param([], {}, "none: no values", id="nothing"),
        pytest.param([0.5], {}, "Dirichlet bound", id="one graded value"),
        pytest.param([1.0], {}, "Wilson", id="one pass is one count"),
        pytest.param([1, 0, 1], {}, "Wilson", id="zeros and ones are a share"),
        pytest.param([0.7] * 40, {}, "Dirichlet bound", id="all equal is not certainty"),
        pytest.param(GRADED, {}, "Dirichlet bound", id="graded"),
        pytest.param(MANY, {"clusters": [i // 4 for i in range(400)]}, "Dirichlet bound, clustered by case", id="repeats"),
        pytest.param([0.4, 0.6], {"clusters": [1, 1]}, "Dirichlet bound, clustered by case", id="one graded case"),
        pytest.param([3.0], {}, "none: one value shows no spread", id="one value without bounds"),
        pytest.param(Y, {"clusters": G}, "Jeffreys, clustered by case", id="repeats of a pass or fail"),
        pytest.param([3.0, 9.0, 4.0], {}, "Student's t", id="no bounds"),
        pytest.param([0.3, 0.9, 0.4], {"bounded": False}, "Student's t", id="no bounds, though the values lie within"),
        pytest.param([5.0] * 9, {}, "none: all values are equal", id="no bounds and no spread"),
        pytest.param([5.0, 6.0], {"clusters": [1, 1]}, "none: repeats of one case show no spread between cases", id="one case"),
        pytest.param([1e308, -1e308, 1e308], {}, "none: the values are too large", id="beyond double precision"),
    ],
)  # fmt: skip
def test_the_method_follows_from_the_values(values, options, method):
    found = mean_interval(values, **options)
    assert found.method == method
    assert found.known is not method.startswith("none")
    if found.known:
        assert found.low < found.high


@pytest.mark.parametrize(
    ("values", "options"),
    [
        pytest.param([0.5, float("nan")], {}, id="NaN"),
        pytest.param([float("inf")], {}, id="infinity"),
        pytest.param([0.5, 1.5], {"bounded": True}, id="outside the bounds claimed"),
        pytest.param([0.5, 0.6], {"clusters": [1]}, id="a cluster missing"),
    ],
)
def test_values_that_cannot_be_are_refused(values, options):
    with pytest.raises(ValueError, match=r"finite|from 0 to 1|clusters"):
        mean_interval(values, **options)


def test_the_mean_is_exactly_rounded_and_none_of_nothing():
    assert mean([0.1] * 10) == 0.1
    assert mean([1e16, 1.0, -1e16]) == pytest.approx(1 / 3)
    assert mean([1e308, 1e308]) == 1e308
    assert mean([]) is None


def test_the_clustered_error_is_the_published_one():
    assert clustered_error(Y, G) == pytest.approx(0.2357022604, abs=5e-11)
    assert clustered_error(Y, range(12)) == pytest.approx(0.1421338109, abs=5e-11)
    assert clustered_error([1.0, 2.0], [0, 0]) is None


def test_the_three_conventions_of_a_clustered_error():
    """Ours is CR1; without its correction it is CR0, and Miller (2024) adds the products within clusters to the usual one."""
    centre, ours, usual = mean(Y), clustered_error(Y, G), clustered_error(Y, range(12))
    assert ours * math.sqrt(3 / 4) == pytest.approx(0.2041241452, abs=5e-11)
    pairs = ((i, j) for i in range(12) for j in range(12) if i != j and G[i] == G[j])
    within = math.fsum((Y[i] - centre) * (Y[j] - centre) for i, j in pairs) / 12**2
    assert math.sqrt(usual**2 + within) == pytest.approx(0.2082070324, abs=5e-11)


@rounds(60)
def test_the_clustered_error_is_that_of_statsmodels(rounds):
    draw = random.Random(11)
    for _ in range(rounds):
        groups = draw.randrange(2, 30)
        clusters = [*range(groups), *(draw.randrange(groups) for _ in range(draw.randrange(1, 80)))]
        values = [draw.gauss(draw.choice([0, 3]), 2) for _ in clusters]
        fitted = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": np.array(clusters)})
        assert clustered_error(values, clusters) == pytest.approx(float(fitted.bse[0]), rel=1e-9)


def test_the_t_interval_is_that_of_scipy():
    found = mean_interval(MANY, bounded=False)
    other = scipy_stats.ttest_1samp(MANY, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=1e-12)
    clusters = [i // 8 for i in range(400)]
    half = clustered_error(MANY, clusters) * scipy_stats.t.ppf(0.975, 49)
    clustered = mean_interval(MANY, clusters=clusters, bounded=False)
    assert (clustered.low, clustered.high) == pytest.approx((mean(MANY) - half, mean(MANY) + half), abs=1e-12)


def test_neither_the_order_of_values_nor_the_names_of_clusters_matter():
    clusters = [i // 3 for i in range(60)]
    order = random.Random(3).sample(range(60), 60)
    moved = [GRADED[i] for i in order]
    assert mean_interval(moved) == mean_interval(GRADED)
    named = mean_interval(moved, clusters=[f"case {clusters[i]}" for i in order])
    straight = mean_interval(GRADED, clusters=clusters)
    assert (named.low, named.high) == pytest.approx((straight.low, straight.high), abs=1e-14)


@pytest.mark.parametrize("repeats", [2, 5])
def test_repeating_a_deterministic_target_tells_nothing_new(repeats):
    clusters = [i for i in range(len(Y)) for _ in range(repeats)]
    found = share_interval([y for y in Y for _ in range(repeats)], clusters)
    assert (found.low, found.high) == pytest.approx((wilson(8, 12).low, wilson(8, 12).high), abs=1e-12)
    graded = mean_interval(
        [g for g in GRADED for _ in range(repeats)], clusters=[i for i in range(60) for _ in range(repeats)]
    )
    alone = mean_interval(GRADED)
    assert (graded.low, graded.high) == pytest.approx((alone.low, alone.high), abs=1e-9)


def test_clusters_of_unequal_size_count_by_their_size():
    """One large cluster alone decides; copies of every row, in clusters of their own, change nothing."""
    values, clusters = [0.9] * 40 + [0.2, 0.3, 0.4, 0.1], [0] * 40 + [1, 2, 3, 4]
    found, apart = mean_interval(values, clusters=clusters), mean_interval(values)
    assert found.low < 0.3 < apart.low
    thrice = mean_interval(values * 3, clusters=clusters * 3)
    assert (thrice.low, thrice.high) == pytest.approx((found.low, found.high), abs=1e-9)


def test_few_or_skewed_scores_without_known_ends_have_a_caution():
    assert skewness_caution([3.0, 9.0, 4.0]).endswith(": 3 values are few, without a known range")
    assert "as skewed as they are" in skewness_caution([1.0] * 95 + [100.0] * 5)
    assert skewness_caution([float(n % 10) for n in range(100)]) == ""
    assert "12 cases" in skewness_caution([float(n % 10) for n in range(100)], [n % 12 for n in range(100)])
    assert skewness_caution([2.0, 2.0]) == ""


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=60))
def test_repeats_are_worth_no_more_than_as_many_cases(rows):
    passed, clusters = [float(ok) for ok, _ in rows], [case for _, case in rows]
    found, without = share_interval(passed, clusters), wilson(sum(passed), len(passed))
    assert 0 <= found.low <= without.low + 1e-12
    assert without.high - 1e-12 <= found.high <= 1


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_an_interval_for_bounded_values_is_wide_within_bounds_and_holds_the_mean(values):
    found = mean_interval(values)
    assert 0 <= found.low <= mean(values) + 1e-12
    assert mean(values) - 1e-12 <= found.high <= 1 + 1e-12
    assert found.high - found.low > 0.1


@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=40), st.floats(-1e6, 1e6))
def test_an_unbounded_interval_is_finite_or_says_why_not(values, shift):
    found = mean_interval([v + shift for v in values], bounded=False)
    assert found.known is not found.method.startswith("none")
    if found.known:
        assert all(map(np.isfinite, (found.low, found.high)))
