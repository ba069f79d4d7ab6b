"""Rates that are promised: the figures of the papers, and the binomial distribution counted out."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random

import pytest
from statsmodels.stats.proportion import proportion_confint

from evalmark.stats.agreement.risk_bounds import (
    clean_negatives_needed,
    conformal_threshold,
    failures_allowed,
    hoeffding_bentkus,
    learn_then_test,
    upper_bound,
)
from tests.stats.inference.draws import SEEDS

BAD_PAIRS = (0.12, 0.18, 0.22, 0.25, 0.31, 0.33, 0.36, 0.41, 0.44, 0.47,
             0.52, 0.55, 0.58, 0.61, 0.63, 0.66, 0.70, 0.74, 0.79, 0.86)  # fmt: skip
GRID = [step / 100 for step in range(101)]


def at_most(k, n, rate):
    """The probability of at most `k` of `n`, term by term."""
    return math.fsum(math.comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(k + 1))


@pytest.mark.parametrize(
    ("k", "n", "bound"),
    [(0, 29, 0.0981446), (0, 59, 0.0495076), (0, 100, 0.0295130), (0, 299, 0.0099691), (1, 100, 0.0465598),
     (2, 100, 0.0616192), (5, 100, 0.1022534), (3, 300, 0.0256414)],
)  # fmt: skip
def test_the_upper_bound_of_a_rate(k, n, bound):
    assert upper_bound(k, n) == pytest.approx(bound, abs=5e-8)


@pytest.mark.parametrize(
    ("rate", "level", "needed"), [(0.05, 0.95, 59), (0.01, 0.95, 299), (0.5, 0.5, 1), (0.1, 0.9, 22)]
)
def test_how_many_clean_cases_promise_a_rate(rate, level, needed):
    assert clean_negatives_needed(rate, level) == needed
    assert upper_bound(0, needed, level) <= rate + 1e-12
    assert needed == 1 or upper_bound(0, needed - 1, level) > rate


@pytest.mark.parametrize(
    ("risk", "n", "limit", "p"),
    [(0.02, 200, 0.05, 0.0718898559), (0.05, 200, 0.1, 0.0219399321), (0.0, 59, 0.05, 0.0484945252)],
)
def test_the_p_value_of_hoeffding_and_bentkus(risk, n, limit, p):
    assert hoeffding_bentkus(risk, n, limit) == pytest.approx(p, abs=5e-11)


@pytest.mark.parametrize(("rate", "threshold"), [(0.1, 0.80), (0.2, 0.71), (0.04, None), (1 / 21, 0.87)])
def test_conformal_risk_control_of_twenty_pairs(rate, threshold):
    assert conformal_threshold(BAD_PAIRS, rate, GRID) == threshold


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_bound_is_where_so_few_have_the_probability_that_is_left(seeds):
    for seed in seeds:
        draw = random.Random(seed)
        n = draw.choice([0, 1, 2, draw.randint(3, 300)])
        k, level = draw.choice([0, n, draw.randint(0, n)]), draw.choice([0.5, 0.9, 0.95, 0.99])
        found = upper_bound(k, n, level)
        if k == n:
            assert found == 1, seed
            continue
        assert at_most(k, n, found) == pytest.approx(1 - level, rel=1e-9), seed
        assert found == pytest.approx(proportion_confint(k, n, 2 * (1 - level), "beta")[1], abs=1e-12), seed


@pytest.mark.parametrize("seeds", SEEDS)
def test_so_many_failures_are_allowed_as_the_bound_allows(seeds):
    for seed in seeds:
        draw = random.Random(seed)
        n, rate, level = (
            draw.choice([0, 1, 2, draw.randint(3, 300)]),
            draw.uniform(0.001, 0.6),
            draw.choice([0.5, 0.9, 0.95]),
        )
        allowed = failures_allowed(n, rate, level)
        assert (allowed is None) is (n < clean_negatives_needed(rate, level)), seed
        most = -1 if allowed is None else allowed
        assert most < 0 or upper_bound(most, n, level) <= rate + 1e-9, seed
        assert most == n or upper_bound(most + 1, n, level) > rate, seed


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_p_value_is_the_smaller_of_two_bounds_counted_out(seeds):
    for seed in seeds:
        draw = random.Random(seed)
        n, limit = draw.choice([0, 1, 2, draw.randint(3, 200)]), draw.uniform(0.01, 0.9)
        risk = draw.randint(0, n) / n if n and draw.random() < 0.7 else draw.random()
        if n == 0:
            assert hoeffding_bentkus(risk, n, limit) == 1, seed
            continue
        below = min(risk, limit)
        parts = [(below, limit), (1 - below, 1 - limit)]
        apart = math.fsum(a * math.log(a / b) for a, b in parts if a)
        bentkus = math.e * at_most(math.ceil(round(n * risk, 6)), n, limit)
        assert hoeffding_bentkus(risk, n, limit) == pytest.approx(min(1, math.exp(-n * apart), bentkus), rel=1e-8), seed


@pytest.mark.parametrize("seeds", SEEDS)
def test_conformal_risk_control_is_what_its_formula_says(seeds):
    for seed in seeds:
        draw = random.Random(seed)
        n, rate = draw.choice([0, 1, 2, draw.randint(3, 80)]), draw.uniform(0.01, 0.9)
        bad = [draw.choice([0.5, round(draw.random(), 2)]) for _ in range(n)]
        held = [cut for cut in GRID if n / (n + 1) * (sum(s >= cut for s in bad) / max(n, 1)) + 1 / (n + 1) <= rate]
        assert conformal_threshold(bad, rate, GRID) == (min(held) if held else None), seed


def test_a_fixed_sequence_ends_at_the_first_that_fails():
    assert learn_then_test([0.0, 0.01, 0.02, 0.04, 0.02], 300, 0.05) == 2
    assert learn_then_test([0.04, 0.0], 300, 0.05) is None
    assert learn_then_test([], 300, 0.05) is None


def test_learn_then_test_is_wrong_about_any_setting_at_most_as_often_as_it_says():
    """Settings whose true risks rise past the limit; the mistake is to take one that is above it."""
    draw, rounds, n, true = random.Random(5), 1_000, 120, [0.02, 0.04, 0.061, 0.08, 0.12]
    wrong = 0
    for _ in range(rounds):
        rolls = [draw.random() for _ in range(n)]
        last = learn_then_test([sum(roll < risk for roll in rolls) / n for risk in true], n, 0.06)
        wrong += last is not None and last >= 2
    assert wrong / rounds <= 0.05 + 3 * (0.05 * 0.95 / rounds) ** 0.5


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: upper_bound(3, 2), id="more than all"),
        pytest.param(lambda: upper_bound(0, 5, 1.0), id="a level of 1"),
        pytest.param(lambda: clean_negatives_needed(0), id="a rate of 0"),
        pytest.param(lambda: failures_allowed(5, math.nan), id="a rate of nan"),
        pytest.param(lambda: hoeffding_bentkus(1.2, 5, 0.1), id="a risk above 1"),
        pytest.param(lambda: conformal_threshold([math.nan], 0.1, GRID), id="a score of nan"),
        pytest.param(lambda: learn_then_test([0.1], 10, 0.1, 0.0), id="a level of 0"),
    ],
)
def test_what_cannot_be_is_refused(call):
    with pytest.raises(ValueError, match=r"must be|needs scores"):
        call()
