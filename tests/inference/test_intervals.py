"""Intervals of shares, against published figures, two other libraries and exact coverage."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from evalmark.inference import clopper_pearson, wilson

COUNTS = st.integers(0, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [
        pytest.param(81, 263, 0.2552885, 0.3662096, id="Newcombe 1998: 81 of 263"),
        pytest.param(15, 148, 0.0623864, 0.1604872, id="Newcombe 1998: 15 of 148"),
        pytest.param(0, 20, 0.0, 0.1611252, id="Newcombe 1998: none of 20"),
        pytest.param(1, 29, 0.0061132, 0.1717552, id="Newcombe 1998: one of 29"),
        pytest.param(20, 20, 0.8388748, 1.0, id="all of 20 is not certainty"),
    ],
)
def test_wilson_agrees_with_the_literature(passed, n, low, high):
    found = wilson(passed, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-8), pytest.approx(high, abs=5e-8))


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [
        pytest.param(81, 263, 0.2527367, 0.3676219, id="81 of 263"),
        pytest.param(15, 148, 0.0578440, 0.1616505, id="15 of 148"),
        pytest.param(0, 20, 0.0, 0.1684335, id="none of 20"),
        pytest.param(1, 29, 0.0008726, 0.1776443, id="one of 29"),
    ],
)
def test_clopper_pearson_agrees_with_the_literature(passed, n, low, high):
    found = clopper_pearson(passed, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-8), pytest.approx(high, abs=5e-8))


def test_both_agree_with_statsmodels_and_scipy_on_random_counts():
    draw = random.Random(20261121)
    for _ in range(400):
        n = draw.choice([1, 2, 3, draw.randrange(1, 50), draw.randrange(50, 100_000)])
        passed, level = draw.choice([0, n, draw.randrange(n + 1)]), draw.choice([0.8, 0.9, 0.95, 0.999])
        for found, method in ((wilson(passed, n, level), "wilson"), (clopper_pearson(passed, n, level), "beta")):
            other = proportion_confint(passed, n, alpha=1 - level, method=method)
            assert (found.low, found.high) == pytest.approx(other, abs=1e-9), (passed, n, level, method)
        exact = binomtest(passed, n).proportion_ci(level, method="exact")
        found = clopper_pearson(passed, n, level)
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize(
    ("n", "wilson_covers", "exact_covers"),
    [
        pytest.param(3, 0.9560, 0.9946, id="n=3"),
        pytest.param(10, 0.9541, 0.9838, id="n=10"),
        pytest.param(30, 0.9524, 0.9734, id="n=30"),
        pytest.param(100, 0.9511, 0.9646, id="n=100"),
    ],
)
def test_the_exact_average_coverage_over_all_true_rates(n, wilson_covers, exact_covers):
    assert _average_coverage(wilson, n) == pytest.approx(wilson_covers, abs=5e-5)
    assert _average_coverage(clopper_pearson, n) == pytest.approx(exact_covers, abs=5e-5)


def _average_coverage(interval, n: int) -> float:
    """Of a uniformly drawn true rate: each count is as likely as any other, and the rate given it is a beta."""
    found = [(k, interval(k, n)) for k in range(n + 1)]
    return math.fsum(betainc(k + 1, n - k + 1, i.high) - betainc(k + 1, n - k + 1, i.low) for k, i in found) / (n + 1)


@given(COUNTS, st.floats(0.01, 0.9999))
def test_wilson_stays_within_0_and_1_and_holds_the_share(counts, level):
    passed, n = counts
    found = wilson(passed, n, level)
    if n == 0:
        assert (found.low, found.high) == (None, None)
    else:
        assert 0 <= found.low <= passed / n <= found.high <= 1
        assert found.low < found.high


@given(st.integers(1, 300), st.data())
def test_one_more_pass_moves_the_interval_up(n, data):
    passed = data.draw(st.integers(0, n - 1))
    for interval in (wilson, clopper_pearson):
        fewer, more = interval(passed, n), interval(passed + 1, n)
        assert fewer.low < more.low
        assert fewer.high < more.high


@given(st.integers(1, 200), st.data())
def test_what_fails_is_the_mirror_of_what_passes(n, data):
    passed = data.draw(st.integers(0, n))
    found, mirrored = wilson(passed, n), wilson(n - passed, n)
    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-12)


def test_nothing_counted_gives_no_interval_and_the_reason():
    assert wilson(0, 0).method == clopper_pearson(0, 0).method == "none: nothing was counted"
    assert not wilson(0, 0).known


@pytest.mark.parametrize(("passed", "n", "level"), [(-1, 3, 0.95), (4, 3, 0.95), (1, 3, 0.0), (1, 3, 1.0), (1, 3, 95)])
def test_impossible_counts_and_levels_are_refused(passed, n, level):
    with pytest.raises(ValueError, match="must be"):
        wilson(passed, n, level)
