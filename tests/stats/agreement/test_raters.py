"""AC1, Fleiss' kappa, linear weights and ratio alpha: the published figures, statsmodels and krippendorff."""

# ruff: noqa: S311  seeded draws, not secrets

import random
from fractions import Fraction
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from scipy.stats import t
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from evalmark.stats.agreement.kappa_alpha import (
    alpha_with_interval,
    cohen_kappa,
    kappa_with_interval,
    krippendorff_alpha,
)
from evalmark.stats.agreement.raters import ac1_with_interval, fleiss_kappa, gwet_ac1
from tests.stats.inference.draws import SEEDS

from .test_kappa_alpha import UNITS, expanded, table_of

WIKIPEDIA = (  # ten subjects, fourteen judges: how often each of five words was said
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
)  # fmt: skip


def said(row):
    return [word for word, times in enumerate(row) for _ in range(times)]


def drawn(seed, *, gaps=True):
    """What two to five judges said of none, one, two or more units; sometimes one word, sometimes with gaps."""
    draw = random.Random(seed)
    judges, words, agree = draw.randint(2, 5), draw.choice([1, 2, 2, 4, 6]), draw.random()
    units = []
    for _ in range(draw.choice([0, 1, 2, draw.randint(3, 40)])):
        truth = draw.randrange(words)
        row = [truth if draw.random() < agree else draw.randrange(words) for _ in range(judges)]
        units.append([word for word in row if not gaps or draw.random() < 0.8])
    return units


@pytest.mark.parametrize(
    ("table", "weighted", "kappa"),
    [
        pytest.param([[20, 5, 1], [4, 15, 6], [1, 7, 21]], "linear", 0.6361091672, id="steps"),
        pytest.param([[20, 5, 1], [4, 15, 6], [1, 7, 21]], "quadratic", 0.7216423104, id="squares"),
        pytest.param([[20, 5], [10, 15]], "linear", 0.4, id="of two words, steps are nothing new"),
    ],
)
def test_weighted_kappa(table, weighted, kappa):
    assert cohen_kappa(*expanded(table), weighted=weighted) == pytest.approx(kappa, abs=5e-11)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("weighted", [False, "linear", "quadratic"])
def test_kappa_and_its_error_are_those_of_statsmodels(seeds, weighted):
    for seed in seeds:
        draw = random.Random(seed)
        size, n = draw.randint(2, 5), draw.choice([0, 1, 2, draw.randint(3, 60)])
        agree = draw.choice([0.0, 0.5, 0.9, 1.0])
        first = [draw.choice([0, draw.randrange(size)]) for _ in range(n)]
        second = [x if draw.random() < agree else draw.randrange(size) for x in first]
        found, interval = kappa_with_interval(first, second, weighted=weighted)
        if len({*first, *second}) < 2:
            assert found is None, seed
            continue
        with np.errstate(all="ignore"):  # it divides by an error of 0 where there is none
            oracle = cohens_kappa(table_of(first, second, size), wt=weighted or None)
        assert found == pytest.approx(oracle.kappa, abs=1e-12), seed
        if not interval.known:
            assert n < 10 or not oracle.std_kappa > 1e-7, seed  # nan where all is equal
            continue
        half = t.ppf(0.975, n - 1) * oracle.std_kappa * (n / (n - 1)) ** 0.5
        ends = max(-1.0, oracle.kappa - half), min(1.0, oracle.kappa + half)
        assert (interval.low, interval.high) == pytest.approx(ends, abs=1e-8), seed


@pytest.mark.parametrize(
    ("level", "alpha"),
    [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107), ("ratio", 0.797403)],
)
def test_alpha_of_the_paper(level, alpha):
    assert krippendorff_alpha(UNITS, level) == pytest.approx(alpha, abs=5e-7)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_is_that_of_krippendorff(seeds, level):
    for seed in seeds:
        units = drawn(seed)
        found = krippendorff_alpha(units, level)
        told = [unit for unit in units if len(unit) > 1]
        if len({x for unit in told for x in unit}) < 2:
            assert found is None, seed
            continue
        width = max(map(len, told))
        rows = np.array([[*unit, *[np.nan] * (width - len(unit))] for unit in told], dtype=float).T
        with np.errstate(invalid="ignore"):  # 0 / 0, which the library then takes as 0
            oracle = krippendorff.alpha(rows, level_of_measurement=level)
        assert found == pytest.approx(oracle, abs=1e-9), seed


def test_the_pulls_of_ratio_alpha_are_its_slopes():
    """The interval, against weights of the units that are moved by hand."""
    units = [[1, 2], [3, 3], [4, 8], [2, 2], [5, 5], [1, 1], [6, 5], [7, 7], [3, 2], [9, 9], [4, 4]]
    n = len(units) * 40
    found, interval = alpha_with_interval(units * 40, "ratio")

    def without(place):
        return krippendorff_alpha([unit for i, unit in enumerate(units * 40) if i != place], "ratio")

    pulls = [
        (found - without(place)) * n for place in range(len(units))
    ]  # of so many, one more or less is a derivative
    error = (40 * sum(p * p for p in pulls) / (n * (n - 1))) ** 0.5
    assert (interval.high - interval.low) / 2 / t.ppf(0.975, n - 1) == pytest.approx(error, rel=0.01)
    assert interval.low < found < interval.high < 1


def test_numbers_below_0_have_no_ratios():
    with pytest.raises(ValueError, match="ratio scale must not be below 0, got -1"):
        krippendorff_alpha([[1, -1]], "ratio")


def test_fleiss_kappa_of_ten_subjects_and_fourteen_judges():
    assert fleiss_kappa([said(row) for row in WIKIPEDIA]) == pytest.approx(0.2099307044, abs=5e-11)


@pytest.mark.parametrize("seeds", SEEDS)
def test_fleiss_kappa_is_that_of_statsmodels(seeds):
    for seed in seeds:
        units = drawn(seed, gaps=False)
        if len({x for unit in units for x in unit}) < 2:
            assert fleiss_kappa(units) is None, seed
        else:
            assert fleiss_kappa(units) == pytest.approx(fleiss_of_statsmodels(aggregate_raters(units)[0]), abs=1e-12), (
                seed
            )


def test_fleiss_kappa_needs_as_many_judgements_of_each_unit():
    with pytest.raises(ValueError, match=r"got \[2, 3\]; take krippendorff_alpha"):
        fleiss_kappa([[1, 2], [1, 2, 3]])
    assert fleiss_kappa([[1], [2]]) is None


@pytest.mark.parametrize(
    ("units", "categories", "ac1"),
    [
        pytest.param([[1, 1]] * 80 + [[1, 0]] * 10 + [[0, 1]] * 10, None, Fraction(31, 41), id="where kappa is -1/9"),
        pytest.param([[1, 1]] * 9 + [[0, 0]], None, 1, id="always the same"),
        pytest.param([[0, 1], [1, 0]], None, -1, id="never the same"),
        pytest.param([[1, 1]] * 5, None, None, id="one word"),
        pytest.param([[1, 1]] * 5, 2, 1, id="one word of two"),
        pytest.param([[1], [0]], None, None, id="nothing said twice"),
        pytest.param([], 2, None, id="nothing"),
    ],
)
def test_ac1_exactly(units, categories, ac1):
    assert gwet_ac1(units, categories) == (None if ac1 is None else pytest.approx(float(ac1), abs=1e-12))


@pytest.mark.parametrize("seeds", SEEDS)
def test_ac1_is_what_its_definition_says(seeds):
    for seed in seeds:
        units = drawn(seed)
        told, twice = [u for u in units if u], [u for u in units if len(u) > 1]
        words = {x for unit in told for x in unit}
        if len(words) < 2 or not twice:
            assert gwet_ac1(units) is None, seed
            continue
        pairs = [list(combinations(unit, 2)) for unit in twice]
        agreed = sum(Fraction(sum(a == b for a, b in p), len(p)) for p in pairs) / len(pairs)
        common = [sum(Fraction(unit.count(w), len(unit)) for unit in told) / len(told) for w in words]
        luck = sum(p * (1 - p) for p in common) / (len(words) - 1)
        assert gwet_ac1(units) == pytest.approx(float((agreed - luck) / (1 - luck)), abs=1e-12), seed


def test_the_interval_of_ac1_is_the_published_error():
    """As irrCAC reports it for the same hundred outputs: AC1 .7561, error .05859."""
    units = [[1, 1]] * 80 + [[1, 0]] * 10 + [[0, 1]] * 10
    found, interval = ac1_with_interval(units)
    assert found == pytest.approx(0.7561, abs=5e-5)
    assert (interval.high - interval.low) / 2 / t.ppf(0.975, 99) == pytest.approx(0.05859, abs=5e-6)
    _, twice = ac1_with_interval(units * 2, clusters=[*range(100)] * 2)
    assert (twice.low, twice.high) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_ac1_with_fewer_categories_than_words_is_refused():
    with pytest.raises(ValueError, match="3 different words were said, which is more than 2"):
        gwet_ac1([[1, 2], [3, 3]], 2)
