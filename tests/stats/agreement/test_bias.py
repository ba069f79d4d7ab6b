"""What moves a judge that should not: exact intervals counted out, slopes against statsmodels."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random

import numpy as np
import pytest
from scipy.stats import t
from statsmodels.api import OLS, add_constant

from evalmark.stats.agreement.bias import length_slope, position_share
from tests.stats.inference.draws import FEW_SEEDS, SEEDS


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_share_of_the_first_place_has_the_exact_interval(seeds):
    for seed in seeds:
        draw = random.Random(seed)
        n = draw.choice([0, 1, 2, draw.randint(3, 120)])
        first = draw.choice([0, n, draw.randint(0, n)])
        found = position_share(first, n - first)
        assert (found.passed, found.n, found.value) == (first, n, first / n if n else None), seed
        low, high = found.interval.low, found.interval.high
        if n == 0:
            assert (low, high) == (None, None), seed
            continue
        for end, ks in ((low, range(first, n + 1)), (high, range(first + 1))):
            tail = math.fsum(math.comb(n, k) * end**k * (1 - end) ** (n - k) for k in ks)
            assert tail == pytest.approx(0.025, rel=1e-9) or end in (0.0, 1.0), seed


def drawn(seed):
    draw = random.Random(seed)
    n = draw.choice([0, 1, 2, 9, draw.randint(10, 60)])
    equal, steps = draw.random() < 0.1, draw.choice([5, 10**6])
    lengths = [40 if equal else draw.randrange(0, 2000) for _ in range(n)]
    scores = [round((draw.random() + 0.05 * math.log1p(length)) * steps) / steps for length in lengths]
    return scores, lengths, [draw.randrange(max(1, n // 2)) for _ in range(n)]


@pytest.mark.parametrize("seeds", FEW_SEEDS)
@pytest.mark.parametrize("clustered", [False, True])
def test_the_slope_and_its_error_are_those_of_statsmodels(seeds, clustered):
    for seed in seeds:
        scores, lengths, cases = drawn(seed)
        found, interval = length_slope(scores, lengths, clusters=cases if clustered else None)
        doublings = np.log2(np.maximum(lengths, 1)) if lengths else np.array([])
        if len(set(doublings)) < 2:
            assert found is None, seed
            continue
        fit = OLS(scores, add_constant(doublings)).fit()
        assert found == pytest.approx(fit.params[1], abs=1e-9), seed
        n, groups = len(scores), len(set(cases))
        units = groups if clustered else n
        if not interval.known:
            single = fit.get_influence().hat_matrix_diag.max() > 1 - 1e-9
            assert units < 10 or fit.ssr < 1e-12 or single, seed
            continue
        influence, apart = fit.get_influence(), doublings - doublings.mean()
        pulls = n * apart * fit.resid / (1 - influence.hat_matrix_diag) / (apart**2).sum()
        sums = np.bincount(cases if clustered else range(n), pulls - pulls.mean())
        half = t.ppf(0.975, units - 1) * ((sums**2).sum() * units / (units - 1)) ** 0.5 / n
        assert (interval.low, interval.high) == pytest.approx((found - half, found + half), abs=1e-8), seed


@pytest.mark.parametrize(
    ("scores", "lengths", "slope", "method"),
    [
        pytest.param([], [], None, "none: no answers", id="nothing"),
        pytest.param([0.5] * 20, [100] * 20, None, "none: all answers are of one length", id="one length"),
        pytest.param([0.2, 0.4], [100, 200], 0.2, "none: fewer than 10 cases", id="two"),
        pytest.param([0.5] * 20, range(1, 21), 0.0, "none: all values are equal", id="one score"),
        pytest.param(
            [*[0.5] * 19, 1], [*[8] * 19, 16], 0.5, "none: a single answer is of another length", id="one longer"
        ),
        pytest.param([0.1, 0.3], [0, 2], 0.2, "none: fewer than 10 cases", id="an empty answer counts as 1 long"),
    ],
)
def test_where_there_is_no_slope_or_no_interval_it_says_why(scores, lengths, slope, method):
    found, interval = length_slope(scores, lengths)
    assert found == (None if slope is None else pytest.approx(slope))
    assert interval.method == method


def test_what_cannot_be_used_is_refused():
    with pytest.raises(ValueError, match="finite"):
        length_slope([math.nan], [3])
    with pytest.raises(ValueError, match="1 scores but 2 lengths"):
        length_slope([0.5], [3, 4])
    with pytest.raises(ValueError, match="passed must be from 0"):
        position_share(-1, 3)


def slope_coverage(n, rounds):
    """How often the interval holds a true slope of .03 a doubling, for scores in tenths that scatter the more the longer."""
    source, held = random.Random(n), 0
    for _ in range(rounds):
        lengths = [source.lognormvariate(5, 0.8) for _ in range(n)]
        scores = [0.3 + 0.03 * math.log2(max(1, x)) + source.uniform(-1, 1) * min(0.3, x / 2_000) for x in lengths]
        _, found = length_slope(scores, lengths)
        held += found.low <= 0.03 <= found.high
    return held / rounds


@pytest.mark.parametrize(("n", "least"), [(20, 0.85), (50, 0.89), (200, 0.91)])
def test_the_interval_holds_the_true_slope(n, least):
    assert slope_coverage(n, 300) > least


@pytest.mark.sweep
@pytest.mark.parametrize("n", [10, 20, 50, 200])
def test_how_often_the_interval_holds_the_true_slope(n, capsys):
    held = slope_coverage(n, 2_000)
    with capsys.disabled():
        print(f"\nslope  n={n:<4} {held:.3f}")  # noqa: T201  for docs/explanation/statistics.md
    assert held > 0.91
