"""Looking after every case: the figures of the papers, all sequences counted out, false alarms, what stops when."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from evalmark.stats.inference.intervals import Interval, no_interval
from evalmark.stats.inference.sequential import BettingSequence, Wealth, asymptotic_half_width, reaches_threshold

from .draws import FEW_SEEDS, SEEDS

VECTOR = [1, 1, 0, 1, 1, 1, 0, 1, 1, 1] * 10


def wealth_by_the_paper(values, mean, level=0.95, planned=None):
    """Both capitals against one mean, number by number."""
    more = less = 1.0
    for t in range(1, len(values) + 1):
        before = values[: t - 1]
        centres = [(0.5 + math.fsum(before[: i + 1])) / (i + 2) for i in range(t - 1)]
        spread = (0.25 + math.fsum((x - c) ** 2 for x, c in zip(before, centres, strict=True))) / t
        bet = math.sqrt(2 * math.log(2 / (1 - level)) / (spread * (planned or t * math.log(1 + t))))
        more *= 1 + min(bet, 0.5 / mean if mean else math.inf) * (values[t - 1] - mean)
        less *= 1 - min(bet, 0.5 / (1 - mean) if mean < 1 else math.inf) * (values[t - 1] - mean)
    return more, less


def test_the_wealth_of_the_paper():
    wealth, found = Wealth(0.5), {}
    for value in VECTOR:
        wealth.add(value)
        found[wealth.n] = math.exp(wealth.logarithm)
    figures = {10: 3.20361328125, 20: 18.669772796475534, 50: 1210.8186725207963}
    assert {n: found[n] for n in figures} == pytest.approx(figures, rel=1e-12)


def test_the_intervals_of_confseq():
    seen, found = BettingSequence(), {}
    for value in VECTOR:
        seen.add(value)
        found[seen.n] = (seen.low, seen.high)
    for n, ends in {10: (0.360, 1), 20: (0.496, 0.985), 50: (0.614, 0.936), 100: (0.667, 0.908)}.items():
        assert found[n] == pytest.approx(ends, abs=0.002)
    assert seen.interval == Interval(low=seen.low, high=seen.high, method="betting confidence sequence")


def test_the_interval_of_confseq_for_a_planned_number_of_values():
    seen = BettingSequence(planned=100)
    for value in VECTOR:
        seen.add(value)
    assert (seen.low, seen.high) == pytest.approx((0.664, 0.889), abs=0.002 + 1e-9)


def test_bets_tell_more_than_hoeffding_and_bernstein():
    """The predictable mixtures of the same paper after the same hundred values: Hoeffding's counted out, Bernstein's as confseq has it."""
    bets = [min(1, math.sqrt(8 * math.log(40) / (t * math.log(t + 1)))) for t in range(1, 101)]
    centre = math.fsum(b * x for b, x in zip(bets, VECTOR, strict=True)) / math.fsum(bets)
    half = (math.log(40) + math.fsum(b * b / 8 for b in bets)) / math.fsum(bets)
    assert (centre - half, centre + half) == pytest.approx((0.646947, 0.950490), abs=5e-7)
    seen = BettingSequence()
    for value in VECTOR:
        seen.add(value)
    assert centre - half < 0.653157 < seen.low < seen.high < 0.939814 < centre + half


@pytest.mark.parametrize("seeds", FEW_SEEDS)
def test_the_wealth_is_that_of_the_paper_and_the_interval_holds_all_that_are_not_refuted(seeds):
    for seed in seeds:
        draw = random.Random(seed)
        kind = draw.choice(["binary", "graded", "all equal"])
        n, level = draw.choice([0, 1, 2, draw.randint(3, 25)]), draw.choice([0.8, 0.95])
        planned = draw.choice([None, None, 20])
        values = [
            {"binary": float(draw.random() < 0.8), "graded": draw.random(), "all equal": 0.5}[kind] for _ in range(n)
        ]
        seen, means = BettingSequence(level, planned=planned), [0.0, 1.0, 0.5, draw.random()]
        wealth, alive = Wealth(means, level, planned), [True] * len(means)
        for t, value in enumerate(values, 1):
            seen.add(value)
            wealth.add(value)
            by_hand = [max(wealth_by_the_paper(values[:t], mean, level, planned)) / 2 for mean in means]
            assert np.exp(wealth.logarithm).tolist() == pytest.approx(by_hand, rel=1e-9, abs=1e-12), seed
            alive = [a and money < 1 / (1 - level) for a, money in zip(alive, by_hand, strict=True)]
        assert (seen.n, wealth.n) == (n, n)
        for mean, possible in zip(means, alive, strict=True):
            assert not possible or seen.low <= mean <= seen.high, seed
            assert possible or not seen.low + 0.001 < mean < seen.high - 0.001, seed


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.9])
def test_a_fair_game_over_all_sequences(mean):
    """Against the true mean both capitals are worth 1 on average, exactly: every sequence of eleven coins."""
    for side in (0, 1):
        total = math.fsum(
            math.prod(mean if x else 1 - mean for x in values) * wealth_by_the_paper(values, mean)[side]
            for values in product((0, 1), repeat=11)
        )
        assert total == pytest.approx(1, abs=1e-12)


def test_before_the_first_value_everything_is_possible_and_the_ends_only_move_inwards():
    seen, source = BettingSequence(bounds=(-1, 1)), random.Random(1)
    assert (seen.n, seen.low, seen.high) == (0, -1, 1)
    ends = []
    for _ in range(300):
        seen.add(source.choice([-1, 0, 0, 0, 1, 1]))
        ends.append((seen.low, seen.high))
    assert all(a[0] <= b[0] <= b[1] <= a[1] for a, b in pairwise(ends))
    assert ends[-1][0] < 1 / 6 < ends[-1][1]


def test_paired_differences_are_values_from_0_to_1_in_other_words():
    apart, mapped, source = BettingSequence(bounds=(-1, 1)), BettingSequence(), random.Random(2)
    for _ in range(80):
        value = source.choice([-1, 0, 0, 1])
        apart.add(value)
        mapped.add((value + 1) / 2)
    assert (apart.low, apart.high) == pytest.approx((2 * mapped.low - 1, 2 * mapped.high - 1))


def test_values_that_drift_leave_what_was_known_before():
    seen = BettingSequence()
    for value in [1.0] * 400:
        seen.add(value)
    known = seen.low
    for value in [0.0] * 4_000:
        seen.add(value)
    assert known <= seen.low <= seen.high


def test_of_very_many_values_without_replacement_is_as_with_it():
    means, draw = [0.0, 0.3, 0.9, 1.0], random.Random(3)
    with_it, without = Wealth(means), Wealth(means, size=10**12)
    for _ in range(200):
        value = draw.choice([0.25, 1.0])
        with_it.add(value)
        without.add(value)
    assert without.logarithm.tolist()[1:3] == pytest.approx(with_it.logarithm.tolist()[1:3], rel=1e-6)
    assert np.isinf(without.logarithm[0])  # a sum of 0 is out of reach after the first value above it


@pytest.mark.parametrize("passing", [1, 4, 7])
def test_a_fair_game_over_all_orders_of_a_finite_number(passing):
    """Against the mean of eight values both capitals are worth 1 on average, and are rarely large: every order counted."""
    size, ends, alarms = 8, [], 0
    orders = list(combinations(range(size), passing))
    for order in orders:
        wealth, alarm = Wealth(passing / size, level=0.5, size=size), False
        for place in range(size):
            wealth.add(float(place in order))
            alarm = alarm or bool(wealth.logarithm >= math.log(2))
        ends.append((math.exp(wealth._more), math.exp(wealth._less)))
        alarms += alarm
    for side in (0, 1):
        assert math.fsum(end[side] for end in ends) / len(orders) == pytest.approx(1, abs=1e-12)
    assert alarms / len(orders) <= 0.5


@pytest.mark.parametrize("seeds", FEW_SEEDS)
def test_the_interval_of_a_finite_number_of_values_ends_at_their_mean(seeds):
    for seed in seeds:
        draw = random.Random(seed)
        size, bounds = draw.choice([1, 2, 3, draw.randint(4, 60)]), draw.choice([(0, 1), (-1, 1)])
        values = [draw.choice([bounds[0], bounds[1], draw.uniform(*bounds)]) for _ in range(size)]
        seen, ends = BettingSequence(bounds=bounds, size=size), []
        for value in values:
            seen.add(value)
            ends.append((seen.low, seen.high))
            rest = size - seen.n
            assert seen.low >= (math.fsum(values[: seen.n]) + bounds[0] * rest) / size - 1e-12, seed
            assert seen.high <= (math.fsum(values[: seen.n]) + bounds[1] * rest) / size + 1e-12, seed
        assert ends[-1] == pytest.approx((math.fsum(values) / size,) * 2), seed
        assert all(low <= high for low, high in ends), seed


def test_false_alarms_of_intervals_without_replacement_are_rare():
    """Two thousand orders of the same 150 values, a look after each; the true mean is left out in at most 5 %."""
    source = np.random.default_rng(20261122)
    values = np.concatenate([np.ones(120), np.zeros(20), source.random(10)])
    orders = np.stack([source.permutation(values) for _ in range(2_000)])
    wealth, alarm = Wealth(np.full(2_000, values.mean()), size=150), np.zeros(2_000, dtype=bool)
    for n in range(150):
        wealth.add(orders[:, n])
        alarm |= wealth.logarithm >= math.log(20)
    assert 0 < alarm.mean() <= 0.05


def test_a_value_more_than_there_are_is_refused():
    seen = BettingSequence(size=1)
    seen.add(1)
    with pytest.raises(ValueError, match="there are 1 values, and one more was given"):
        seen.add(1)
    with pytest.raises(ValueError, match="there are must be at least 1, got 0"):
        BettingSequence(size=0)


@pytest.mark.parametrize("value", [math.nan, -0.01, 1.01, math.inf])
def test_a_value_outside_the_bounds_is_refused_and_changes_nothing(value):
    seen = BettingSequence()
    with pytest.raises(ValueError, match="values must be from 0 to 1, got"):
        seen.add(value)
    assert (seen.n, seen.low, seen.high) == (0, 0, 1)


def test_a_plan_of_no_values_is_refused():
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        BettingSequence(planned=0)


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0), (0, math.inf), (math.nan, 1)])
def test_bounds_that_cannot_be_are_refused(bounds):
    with pytest.raises(ValueError, match="bounds must be two finite numbers"):
        BettingSequence(bounds=bounds)


@pytest.mark.parametrize(
    ("n", "half"),
    [(10, 0.6095377), (50, 0.2180412), (100, 0.1517604), (500, 0.0705039), (1000, 0.0512561)],
)
def test_the_asymptotic_sequence_of_the_paper(n, half):
    assert asymptotic_half_width(0.5, n) == pytest.approx(half, abs=5e-8)


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_asymptotic_sequence_is_what_its_formula_says(seeds):
    for seed in seeds:
        draw = random.Random(seed)
        spread, n, level, best = (
            draw.choice([0.0, draw.random()]),
            draw.randint(1, 5_000),
            draw.uniform(0.5, 0.99),
            draw.randint(1, 900),
        )
        alpha = 1 - level
        rho2 = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / best
        half = spread * math.sqrt(2 * (n * rho2 + 1) / (n**2 * rho2) * math.log(math.sqrt(n * rho2 + 1) / alpha))
        assert asymptotic_half_width(spread, n, level, best) == pytest.approx(half, rel=1e-9, abs=1e-12), seed


@pytest.mark.parametrize("call", [(0.5, 0), (-1.0, 5), (math.nan, 5), (0.5, 5, 1.0), (0.5, 5, 0.95, 0)])
def test_half_widths_of_nothing_are_refused(call):
    with pytest.raises(ValueError, match=r"at least 1|finite number"):
        asymptotic_half_width(*call)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        pytest.param(0.9, 1.0, True, id="all of it reaches the bar"),
        pytest.param(0.5, 0.89, False, id="none of it does"),
        pytest.param(0.5, 0.9, None, id="its end does"),
    ],
)
def test_a_bar_is_decided_by_the_whole_interval(low, high, said):
    assert reaches_threshold(Interval(low=low, high=high, method=""), 0.9) is said


def test_nothing_is_decided_without_an_interval():
    assert reaches_threshold(no_interval("no values"), 0.0) is None


NULLS = [
    pytest.param(0.5, (0, 1), id="half of the cases pass"),
    pytest.param(0.9, (0, 1), id="nine of ten pass"),
    pytest.param(0.5, (0, 0.5, 1), id="paired differences"),
    pytest.param(0.7, None, id="graded"),
]


def alarms(mean, values, runs, looks, level=0.95):
    """The share of runs in which the true mean is refuted at any of the looks, one after every value."""
    source = np.random.default_rng(looks)
    wealth, alarmed = Wealth(np.full(runs, mean), level), np.zeros(runs, dtype=bool)
    for _ in range(looks):
        wealth.add(drawn_values(source, mean, values, runs))
        alarmed |= wealth.logarithm >= -math.log1p(-level)
    return alarmed.mean()


def drawn_values(source, mean, values, runs):
    if values is None:
        return source.beta(7 * mean, 7 * (1 - mean), runs)
    if len(values) == 3:
        return source.choice(values, runs, p=[0.1, 0.8, 0.1])
    return source.random(runs) < mean


@pytest.mark.parametrize(("mean", "values"), NULLS)
def test_looking_after_every_value_gives_few_false_alarms(mean, values):
    runs = 1_000
    assert alarms(mean, values, runs, 300) <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.sweep
@pytest.mark.parametrize(("mean", "values"), NULLS)
def test_false_alarms_of_many_runs(mean, values):
    assert alarms(mean, values, 20_000, 2_000) <= 0.05


def test_a_fixed_interval_that_is_looked_at_after_every_value_does_not_hold():
    """What all this is for: 95 % intervals of the usual kind, from the tenth value on."""
    source, runs, looks = np.random.default_rng(0), 1_000, 300
    passed = (source.random((runs, looks)) < 0.5).cumsum(axis=1)
    n = np.arange(1, looks + 1)
    off = np.abs(passed / n - 0.5) > 1.96 * 0.5 / np.sqrt(n)
    assert off[:, 9:].any(axis=1).mean() > 0.25
