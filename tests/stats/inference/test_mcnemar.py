"""McNemar's test, against the literature, statsmodels, and tails summed in fractions."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from statsmodels.stats.contingency_tables import mcnemar as of_statsmodels

from evalmark.stats.inference.paired import changed_pairs_test, fewest_changes, mcnemar, sign_test

from .draws import rounds


@pytest.mark.parametrize(
    ("b", "c", "figure", "value", "digits"),
    [
        pytest.param(26, 14, "exact", 0.0806904678, 10, id="40 changed: exact"),
        pytest.param(26, 14, "mid_p", 0.0595838880, 10, id="40 changed: mid-p"),
        pytest.param(26, 14, "chi2", 3.6, 12, id="40 changed: chi-squared"),
        pytest.param(26, 14, "corrected", 3.025, 12, id="40 changed: corrected"),
        pytest.param(86, 150, "chi2", 17.3559322, 7, id="Agresti, approval ratings: chi-squared"),
        pytest.param(86, 150, "corrected", 16.8177966, 7, id="Agresti, approval ratings: corrected"),
        pytest.param(86, 150, "exact", 3.7159e-05, 9, id="Agresti, approval ratings: exact"),
    ],
)
def test_it_agrees_with_the_literature(b, c, figure, value, digits):
    assert round(getattr(mcnemar(b, c), figure), digits) == pytest.approx(value, abs=10**-digits / 2)


@pytest.mark.parametrize(
    ("changed", "fewer", "p"),
    [(6, 0, 0.03125), (10, 1, 0.0215), (15, 3, 0.0352), (20, 5, 0.0414), (30, 9, 0.0428), (50, 17, 0.0328)],
)
def test_the_smallest_splits_that_can_be_told_from_luck(changed, fewer, p):
    assert mcnemar(changed - fewer, fewer).exact == pytest.approx(p, abs=5e-5)
    assert mcnemar(changed - fewer - 1, fewer + 1).exact > 0.05


def test_five_that_changed_are_never_enough():
    assert min(mcnemar(n - down, down).exact for n in range(1, 6) for down in range(n + 1)) == 0.0625


def test_where_nothing_changed_nothing_is_known():
    found = mcnemar(0, 0)
    assert (found.exact, found.mid_p, found.chi2, found.corrected) == (None, None, None, None)


def test_as_many_either_way_is_no_difference_at_all():
    found = mcnemar(7, 7)
    assert (found.exact, found.mid_p, found.chi2, found.corrected) == (1.0, pytest.approx(1.0), 0.0, 0.0)


@pytest.mark.parametrize(("b", "c"), [(-1, 3), (3, -1)])
def test_counts_below_0_are_refused(b, c):
    with pytest.raises(ValueError, match="counted from 0"):
        mcnemar(b, c)


def split(draw: random.Random, most: int) -> tuple[int, int]:
    n = draw.choice([0, 1, 2, 3, draw.randrange(2, 40), draw.randrange(40, most)])
    b = draw.choice([0, n, n // 2, draw.randrange(n + 1), round(n * draw.gauss(0.5, 0.02))])
    return max(0, min(n, b)), n - max(0, min(n, b))


@rounds(1_000)
def test_every_form_is_that_of_statsmodels_and_of_fractions(rounds):
    draw, tails = random.Random(1947), {}
    for _ in range(rounds):
        b, c = split(draw, 400)
        found, turned = mcnemar(b, c), mcnemar(c, b)
        assert found == turned
        if b + c == 0:
            assert found.exact is None
            continue
        if (key := (b + c, min(b, c))) not in tails:
            tails[key] = sum(math.comb(b + c, i) for i in range(min(b, c) + 1))
        tail = Fraction(tails[key], 2 ** (b + c))
        assert found.exact == pytest.approx(float(min(1, 2 * tail)), rel=1e-11)
        assert found.mid_p == pytest.approx(float(2 * tail - Fraction(math.comb(*key), 2 ** (b + c))), rel=1e-11)
        table = [[5, b], [c, 9]]
        assert found.exact == pytest.approx(of_statsmodels(table, exact=True).pvalue, rel=1e-10)
        assert found.chi2 == pytest.approx(of_statsmodels(table, exact=False, correction=False).statistic)
        if b != c:  # statsmodels takes one off a difference of none and squares what is left
            assert found.corrected == pytest.approx(of_statsmodels(table, exact=False).statistic)


@rounds(300)
def test_huge_counts_are_no_trouble(rounds):
    draw = random.Random(9)
    for _ in range(rounds):
        b, c = split(draw, 2_000_000)
        if b + c:
            other = binomtest(b, b + c).pvalue
            assert sign_test(b, c) == pytest.approx(other, rel=1e-6, abs=1e-290)


@pytest.mark.parametrize(
    ("down", "up", "n", "test"),
    [
        pytest.param(5, 2, 10, "mid-p McNemar", id="70 % changed"),
        pytest.param(6, 2, 11, "exact McNemar", id="more than 70 % changed"),
        pytest.param(0, 0, 10, "none: no case differs", id="none changed"),
    ],
)
def test_mid_p_is_used_where_at_most_70_percent_of_the_pairs_changed(down, up, n, test):
    found = mcnemar(down, up)
    p = {"mid-p McNemar": found.mid_p, "exact McNemar": found.exact}.get(test)
    assert changed_pairs_test(down, up, n) == (p, test)


def test_more_changed_pairs_than_pairs_are_refused():
    with pytest.raises(ValueError, match="7 of 6 pairs"):
        changed_pairs_test(3, 4, 6)


@pytest.mark.parametrize("exact", [True, False])
def test_the_fewest_changes_are_those_that_the_test_finds(exact):
    for alpha in (0.1, 0.05, 0.025, 0.01, 0.001):
        fewest = fewest_changes(alpha, exact=exact)
        now, one_less = (mcnemar(n, 0) for n in (fewest, fewest - 1))
        assert (now.exact if exact else now.mid_p) < alpha <= (one_less.exact if exact else one_less.mid_p)


@pytest.mark.parametrize("n", [10, 16, 17, 30, 59, 100])
def test_chance_is_called_a_change_in_at_most_5_percent_whatever_share_of_the_pairs_changes(n):
    """The whole table is that of `benchmarks/pairs.py`."""
    called = [
        sum(binom.pmf(k, m, 0.5) for k in range(m + 1) if changed_pairs_test(k, m - k, n)[0] < 0.05) if m else 0.0
        for m in range(n + 1)
    ]
    shares = np.linspace(0, 1, 201)
    assert (binom.pmf(np.arange(n + 1)[None, :], n, shares[:, None]) @ called).max() <= 0.05
