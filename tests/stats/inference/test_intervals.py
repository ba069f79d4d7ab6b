"""Intervals of shares, against published figures, two other libraries and exact coverage."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc, betaincinv
from scipy.stats import binom, binomtest, t
from statsmodels.stats.proportion import proportion_confint

from evalmark.stats.inference.intervals import Interval, clopper_pearson, wilson
from evalmark.stats.inference.means import share_interval

from .draws import rounds

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


@rounds(400)
def test_both_agree_with_statsmodels_and_scipy_on_random_counts(rounds):
    draw = random.Random(20261121)
    for _ in range(rounds):
        n = draw.choice([1, 2, 3, draw.randrange(1, 50), draw.randrange(50, 100_000)])
        passed, level = draw.choice([0, n, draw.randrange(n + 1)]), draw.choice([0.8, 0.9, 0.95, 0.999])
        for found, method in ((wilson(passed, n, level), "wilson"), (clopper_pearson(passed, n, level), "beta")):
            other = proportion_confint(passed, n, alpha=1 - level, method=method)
            assert (found.low, found.high) == pytest.approx(other, abs=1e-9), (passed, n, level, method)
        exact = binomtest(passed, n).proportion_ci(level, method="exact")
        found = clopper_pearson(passed, n, level)
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def wald(passed: int, n: int) -> Interval:
    """What many reports print: the share plus and minus 1.96 standard errors."""
    return _about(passed, n, 1.959963984540054 * math.sqrt(passed * (n - passed) / n**3))


def student(passed: int, n: int) -> Interval:
    return _about(passed, n, t.ppf(0.975, n - 1) * math.sqrt(passed * (n - passed) / n**2 / (n - 1)))


def _about(passed: int, n: int, half: float) -> Interval:
    return Interval(low=max(0.0, passed / n - half), high=min(1.0, passed / n + half), method="")


def jeffreys(passed: int, n: int) -> Interval:
    return _posterior(passed + 0.5, n - passed + 0.5)


def uniform(passed: int, n: int) -> Interval:
    return _posterior(passed + 1, n - passed + 1)


def _posterior(a: float, b: float) -> Interval:
    return Interval(low=betaincinv(a, b, 0.025), high=betaincinv(a, b, 0.975), method="")


METHODS = (wald, student, wilson, clopper_pearson, jeffreys, uniform)
"""Two of them are ours; the others show why those are."""


@pytest.mark.parametrize(
    ("n", "covers"),
    [
        pytest.param(3, (0.4957, 0.5000, 0.9560, 0.9946, 0.9626, 0.9500), id="n=3"),
        pytest.param(10, (0.7693, 0.7940, 0.9541, 0.9838, 0.9531, 0.9500), id="n=10"),
        pytest.param(30, (0.8749, 0.8861, 0.9524, 0.9734, 0.9505, 0.9500), id="n=30"),
        pytest.param(100, (0.9223, 0.9260, 0.9511, 0.9646, 0.9499, 0.9500), id="n=100"),
        pytest.param(300, (0.9391, 0.9404, 0.9505, 0.9591, 0.9499, 0.9500), id="n=300"),
        pytest.param(1000, (0.9462, 0.9466, 0.9502, 0.9553, 0.9500, 0.9500), id="n=1000"),
    ],
)
def test_the_exact_average_coverage_over_all_true_rates(n, covers):
    """Figures of `METHODS`, in their order."""
    assert [_average_coverage(method, n) for method in METHODS] == pytest.approx(covers, abs=5.1e-5)


@pytest.mark.parametrize("some", [range(3, 60), range(60, 340, 7), range(1_000, 1_003)])
def test_the_interval_of_pass_rates_holds_them_on_average_whatever_the_number(some):
    assert min(_average_coverage(_default, n) for n in some) >= 0.945


@pytest.mark.sweep
def test_the_interval_of_pass_rates_holds_them_on_average_for_every_number_to_600():
    assert min(_average_coverage(wilson, n) for n in range(3, 601)) >= 0.945


def _default(passed: int, n: int) -> Interval:
    """What `share` and `mean_interval` give zeros and ones."""
    return share_interval([1] * passed + [0] * (n - passed))


def _average_coverage(interval, n: int) -> float:
    """Of a uniformly drawn true rate: each count is as likely as any other, and the rate given it is a beta."""
    found = [interval(k, n) for k in range(n + 1)]
    passed, low, high = np.arange(n + 1), [i.low for i in found], [i.high for i in found]
    held = betainc(passed + 1, n - passed + 1, high) - betainc(passed + 1, n - passed + 1, low)
    return math.fsum(held) / (n + 1)


@pytest.mark.parametrize(
    ("rate", "n", "of_wald", "of_student", "of_wilson", "of_exact"),
    [
        pytest.param(0.95, 20, 0.6389, 0.6412, 0.9245, 0.9841, id="95 % at 20"),
        pytest.param(0.95, 100, 0.8775, 0.8775, 0.9659, 0.9826, id="95 % at 100"),
        pytest.param(0.99, 100, 0.6334, 0.6334, 0.9206, 0.9816, id="99 % at 100"),
    ],
)
def test_the_exact_coverage_of_high_rates(rate, n, of_wald, of_student, of_wilson, of_exact):
    for method, covers in ((wald, of_wald), (student, of_student), (wilson, of_wilson), (clopper_pearson, of_exact)):
        found = [method(k, n) for k in range(n + 1)]
        held = math.fsum(binom.pmf(k, n, rate) for k, i in enumerate(found) if i.low <= rate <= i.high)
        assert held == pytest.approx(covers, abs=5.1e-5), method.__name__


def test_of_none_of_20_the_uniform_prior_says_less_than_wilson():
    found = uniform(0, 20)
    assert (round(found.low, 7), round(found.high, 7)) == (0.0012049, 0.1610976)
    assert (round(wald(81, 263).low, 7), round(wald(81, 263).high, 7)) == (0.2521901, 0.3637795)


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
