"""The permutation test of pairs, against scipy's, every choice of signs counted out, and sums in whole numbers."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random

import numpy as np
import pytest
from scipy.stats import norm, permutation_test

from evalmark.stats.inference.paired import sign_test
from evalmark.stats.inference.sign_flips import sign_flips

from .draws import rounds

MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def counted_out(differences):
    """By every choice of signs; ties within rounding count as far out."""
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * len(differences))).reshape(len(differences), -1)
    sums = np.abs(signs.T @ np.asarray(differences, dtype=float))
    slack = 1e-11 * np.abs(differences).sum()
    return float((sums >= abs(math.fsum(differences)) - slack).mean())


def in_whole_numbers(steps):
    """By adding up how many choices of signs give each sum, in Python's integers."""
    total, counts = sum(map(abs, steps)), {0: 1}
    for step in map(abs, steps):
        grown = dict(counts)
        for reached, ways in counts.items():
            grown[reached + step] = grown.get(reached + step, 0) + ways
        counts = grown
    far = sum(ways for reached, ways in counts.items() if abs(2 * reached - total) >= abs(sum(steps)))
    return far / 2 ** len(steps)


def test_darwins_maize_is_that_of_fisher():
    """Fisher, The design of experiments (1935), section 21: 863 of 32,768 on one side."""
    found = sign_flips(MAIZE)
    assert (found.p, found.n, found.method) == (1726 / 32768, 15, "sign flips, all counted")
    assert found.p == 0.05267333984375
    assert found.p / 2 == 863 / 32768 == 0.026336669921875


def test_in_another_unit_it_is_the_same():
    assert sign_flips([x / 8 for x in MAIZE]).p == sign_flips([x * 1e200 for x in MAIZE]).p == 1726 / 32768
    assert sign_flips([x / 700 for x in MAIZE]).p == sign_flips([x * math.pi for x in MAIZE]).p == 1726 / 32768


@pytest.mark.parametrize(
    ("differences", "p", "n", "method"),
    [
        pytest.param([], None, 0, "none: nothing differs", id="no cases"),
        pytest.param([0.0, -0.0], None, 0, "none: nothing differs", id="none differs"),
        pytest.param([0.3], 1.0, 1, "sign flips, all counted", id="one case is always luck"),
        pytest.param([0.3, 0.3, 0.0], 0.5, 2, "sign flips, all counted", id="zeros tell nothing"),
        pytest.param([1e-300, 1e-300], 0.5, 2, "sign flips, all counted", id="however small"),
        pytest.param([0.1 + 0.2 - 0.3, 0.5, 0.5], 0.5, 2, "sign flips, all counted", id="rounding is no difference"),
        pytest.param([0.25] * 37, 2 * 0.5**37, 37, "sign flips, summed on a grid", id="all one way"),
        pytest.param([1.0, -1.0] * 20, 1.0, 40, "sign flips, summed on a grid", id="as many either way"),
        pytest.param([0.1, -math.pi] * 20, 2 * 0.5**20, 40, "sign flips, summed", id="on no grid, and tied"),
    ],
)
def test_what_is_said_of_few_of_equal_and_of_ties(differences, p, n, method):
    found = sign_flips(differences)
    assert (found.n, found.method) == (n, method)
    assert found.p == (None if p is None else pytest.approx(p, rel=1e-9, abs=1e-9))


@pytest.mark.parametrize(
    ("differences", "clusters", "said"),
    [
        pytest.param([1.0, math.nan], None, "finite", id="NaN"),
        pytest.param([1.0, math.inf], None, "finite", id="infinity"),
        pytest.param([1.0, 2.0], [1], "2 differences but 1 clusters", id="a cluster is missing"),
    ],
)
def test_what_cannot_be_is_refused(differences, clusters, said):
    with pytest.raises(ValueError, match=said):
        sign_flips(differences, clusters)


def few(draw: random.Random, most: int) -> list[float]:
    n = draw.randrange(most + 1)
    kind = draw.randrange(6)
    if kind == 0:
        return [draw.gauss(draw.choice([0, 0.5]), 1) for _ in range(n)]
    if kind == 1:
        return [draw.choice([-1.0, 0.0, 1.0]) for _ in range(n)]
    if kind == 2:
        return [draw.choice([0.3, -0.7])] * n
    if kind == 3:
        return [draw.randrange(11) / 10 - draw.randrange(11) / 10 for _ in range(n)]
    if kind == 4:
        return [draw.choice([1.0, -1.0, 0.001, math.pi]) * draw.choice([1.0, 1e-3]) for _ in range(n)]
    return [draw.randrange(4) / 3 - draw.randrange(6) / 5 for _ in range(n)]


@rounds(400)
def test_a_few_are_counted_as_by_hand(rounds):
    draw = random.Random(1935)
    for _ in range(rounds):
        differences = few(draw, 10)
        found = sign_flips(differences)
        if any(abs(d) > 1e-15 for d in differences):
            assert found.p == pytest.approx(counted_out(differences), abs=1e-12), differences
        else:
            assert found.p is None


@rounds(60)
def test_a_few_are_counted_as_by_scipy(rounds):
    """In parts of 1/64, which floats add up exactly: scipy takes a sum that is 0 but for rounding at its word."""
    draw = random.Random(21)
    for _ in range(rounds):
        differences = [round(64 * d) / 64 for d in few(draw, 8)]
        if len(differences) < 2 or not any(differences):
            continue
        pairs = (np.asarray(differences), np.zeros(len(differences)))
        other = permutation_test(
            pairs, lambda a, b: math.fsum(a) - math.fsum(b), permutation_type="samples", n_resamples=math.inf
        )
        assert sign_flips(differences).p == pytest.approx(other.pvalue, abs=1e-12), differences


@rounds(150)
def test_on_a_grid_it_is_the_sum_in_whole_numbers(rounds):
    draw = random.Random(3)
    for _ in range(rounds):
        n, width = draw.randrange(5, 90), draw.choice([1, 2, 4, 10, 12, 25])
        shift = draw.choice([0, 0, 0.3])
        steps = [round(max(-width, min(width, draw.gauss(shift * width, width / 2)))) for _ in range(n)]
        if not any(steps):
            continue
        found = sign_flips([step / width for step in steps])
        exact = in_whole_numbers(steps)
        if exact > 1e-12:
            assert found.p == pytest.approx(exact, rel=1e-9, abs=2e-12), steps
        else:
            assert exact * (1 - 1e-9) <= found.p < 1e-11


@pytest.mark.parametrize("rounds", [4, pytest.param(200, marks=pytest.mark.sweep)])
def test_many_on_no_grid_are_hardly_above_what_counting_gives(rounds):
    draw = random.Random(4)
    for _ in range(rounds):
        shift, shape = draw.choice([0, 0.2, 0.4, 0.8]), draw.choice([1, 1, 3])
        differences = [draw.gauss(shift, 1) ** shape * draw.choice([1, 1, 0.1]) for _ in range(draw.choice([37, 38]))]
        found, spread = sign_flips(differences), math.sqrt(math.fsum(d * d for d in differences))
        if found.n <= 36:
            continue  # a cube of next to nothing is taken as rounding
        assert found.method == "sign flips, summed"
        least, most = by_halves(differences, 1e-9), by_halves(differences, 0.0021 * spread)
        assert least * (1 - 1e-4) - 1e-12 <= found.p <= most * (1 + 1e-4) + 1e-12


def by_halves(differences, slack):
    """Exactly, from the sorted sums of every second difference and of the others."""
    one = other = np.zeros(1)
    for number, d in enumerate(differences):
        if number % 2:
            one = np.concatenate([one + d, one - d])
        else:
            other = np.concatenate([other + d, other - d])
    far = abs(math.fsum(differences)) - slack
    return 2 * float((len(other) - np.searchsorted(np.sort(other), far - np.sort(one))).sum()) / 2 ** len(differences)


@pytest.mark.parametrize(("n", "shift"), [(60, 0.0), (60, 1.5), (60, 2.5), (400, 2.0)])
def test_many_on_no_grid_are_what_drawn_signs_say(n, shift):
    source = np.random.default_rng(n)
    differences = source.normal(0, 1, n)
    differences += shift / math.sqrt(n) - differences.mean()
    draws, far = 40_000, abs(differences.sum())
    beyond = sum(
        int((abs(source.choice([-1.0, 1.0], (1_000, n)) @ differences) >= far - 1e-9).sum())
        for _ in range(draws // 1_000)
    )
    p = (1 + beyond) / (1 + draws)
    assert sign_flips(differences.tolist()).p == pytest.approx(p, abs=4.5 * math.sqrt(p * (1 - p) / draws) + 2e-4)


def test_zeros_and_ones_are_the_exact_test_of_mcnemar():
    draw = random.Random(6)
    for _ in range(200):
        up, down = draw.randrange(200), draw.randrange(200)
        p = sign_test(down, up)
        if p is not None:
            found = sign_flips([1.0] * up + [-1.0] * down + [0.0] * 7)
            assert found.p == pytest.approx(p, rel=1e-9, abs=2e-12) or p < found.p < 1e-11


def test_of_huge_numbers_it_is_near_to_the_normal():
    differences = np.random.default_rng(8).normal(0.002, 0.3, 200_000)
    z = differences.sum() / math.sqrt((differences**2).sum())
    assert sign_flips(differences.tolist()).p == pytest.approx(2 * norm.sf(abs(z)), rel=0.01)


def test_neither_order_nor_sign_nor_names_matter():
    draw = random.Random(11)
    for _ in range(60):
        differences = [0.5, *few(draw, 45)]
        clusters = [draw.randrange(20) for _ in differences]
        found, clustered = sign_flips(differences), sign_flips(differences, clusters)
        order = draw.sample(range(len(differences)), len(differences))
        moved = [-differences[i] for i in order]
        named = sign_flips(moved, [f"case {clusters[i]}" for i in order])
        assert sign_flips(moved).p == pytest.approx(found.p, rel=1e-9)
        assert (named.p, named.n) == (pytest.approx(clustered.p, rel=1e-9), clustered.n)
        assert sign_flips(differences, list(range(len(differences)))) == found


@pytest.mark.parametrize("times", [2, 5])
def test_repeats_of_a_case_turn_together_and_tell_nothing_new(times):
    clusters = [i for i in range(len(MAIZE)) for _ in range(times)]
    assert sign_flips([d for d in MAIZE for _ in range(times)], clusters).p == 1726 / 32768
    assert sign_flips([d for d in MAIZE for _ in range(times)]).p < 0.02


def test_the_test_keeps_its_promise_where_nothing_differs():
    """Of symmetric differences at most 5 % are called at 5 %; the share called is near it, too."""
    draw, called = random.Random(5), 0
    for _ in range(1_000):
        called += sign_flips([draw.choice([-1, 1]) * draw.betavariate(1, 3) for _ in range(18)]).p <= 0.05
    assert 0.03 < called / 1_000 < 0.07
