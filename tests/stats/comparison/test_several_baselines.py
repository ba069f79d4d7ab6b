"""A run against several baselines is one family of tests."""

# ruff: noqa: S311  seeded draws, not secrets

import random

import pytest

from evalmark import compare
from evalmark.stats.comparison.compare import compare_several
from evalmark.stats.inference.multiple_tests import holm

from .test_missing import run


def bot(seed, rate, n=120):
    draw = random.Random(seed)
    return run([[draw.random() < rate] for _ in range(n)])


def differences(comparisons):
    return [
        one.difference
        for comparison in comparisons
        for target in comparison.targets
        for one in (target.overall, *target.metrics)
    ]


def test_p_is_adjusted_over_all_baselines():
    newer, baselines = bot(1, 0.7), [bot(2, 0.85), bot(3, 0.82), bot(4, 0.9)]
    found = compare_several(newer, baselines)
    every = differences(found)
    assert [one.adjusted for one in every] == holm([one.p for one in every])
    assert [one.tests for one in found] == [3, 3, 3]


def test_one_baseline_is_compared_as_ever():
    newer, baseline = bot(1, 0.7), bot(2, 0.85)
    assert compare_several(newer, [baseline]) == (compare(newer, baseline),)


def test_what_one_comparison_calls_worse_may_be_chance_among_many():
    newer = bot(1, 0.82)
    alone = next(one for seed in range(2, 400) if (one := bot(seed, 0.9)) and 0.02 < p(newer, one) < 0.05)
    assert compare(newer, alone).outcome == "worse"
    assert compare_several(newer, [alone, *(bot(1, 0.82) for _ in range(1)), bot(900, 0.82), bot(901, 0.82)])[
        0
    ].outcome == ("cannot tell")


def p(newer, baseline):
    return compare(newer, baseline).targets[0].overall.difference.p or 1.0


@pytest.mark.slow
def test_without_a_change_at_most_5_percent_of_families_have_a_worse_or_better_run():
    false = 0
    for seed in range(200):
        runs = [bot(10 * seed + number, 0.85) for number in range(4)]
        false += any(one.outcome in ("better", "worse") for one in compare_several(runs[0], runs[1:]))
    assert false <= 18  # 5 % of 200 are 10; more than 18 would happen once in a hundred such tests
