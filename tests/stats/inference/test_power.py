"""How many cases a comparison takes, against Miller's figures, statsmodels and draws."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.power import normal_sample_size_one_tail

from evalmark.stats.inference.paired import sign_test
from evalmark.stats.inference.power import cases_needed, paired_variance, quantiles, smallest_effect

from .draws import rounds


def test_the_quantiles_of_four_in_five_at_five_percent():
    assert round(quantiles() ** 2, 10) == 7.8488797343


@pytest.mark.parametrize(
    ("effect", "options", "n"),
    [
        pytest.param(0.03, {"variance": 1 / 9}, 969, id="Miller 2024: no noise within cases"),
        pytest.param(0.03, {"discordance": 0.10}, 865, id="one in ten changes"),
        pytest.param(-0.03, {"discordance": 0.10}, 865, id="the other way"),
        pytest.param(0.03, {"variance": 0.8 * 0.2 + 0.83 * 0.17}, 2_626, id="80 % against 83 %, not paired"),
        pytest.param(0.1, {"variance": 0.0}, 1, id="without any spread one case is enough"),
        pytest.param(0.0, {"variance": 0.1}, None, id="no number of cases shows that there is none"),
        pytest.param(1e-12, {"variance": 0.1}, None, id="nor one so small"),
        pytest.param(5e-324, {"variance": 0.1}, None, id="however small"),
    ],
)
def test_the_cases_needed(effect, options, n):
    assert cases_needed(effect, **options) == n


def test_millers_figure_to_its_digits():
    assert quantiles() ** 2 * paired_variance(1 / 9) / 0.03**2 == pytest.approx(968.9974980678, abs=5e-11)


@pytest.mark.parametrize(("repeats", "effect"), [(1, 0.1327333), (10, 0.0756696)])
def test_ten_repeats_show_a_smaller_difference(repeats, effect):
    """Miller 2024, section 5: 13.2 % and 7.5 %, cut off."""
    one = paired_variance(1 / 9, (1 / 6, 1 / 6), (repeats, repeats))
    assert smallest_effect(198, variance=one) == pytest.approx(effect, abs=5e-8)


@pytest.mark.parametrize(("repeats", "cut"), [(1, 0.0), (2, 1 / 3), (4, 1 / 2), (6, 5 / 9), (10**12, 2 / 3)])
def test_repeats_cut_the_variance_of_a_mean_as_published(repeats, cut):
    """Miller 2024, section 3.1: rates spread evenly from 0 to 1."""
    once, more = (paired_variance(1 / 12, (1 / 6, 0.0), (k, 1)) for k in (1, repeats))
    assert 1 - more / once == pytest.approx(cut, abs=1e-11)


@pytest.mark.parametrize(
    ("n", "discordance", "effect"),
    [
        pytest.param(0, 0.1, None, id="no cases"),
        pytest.param(865, 0.1, 0.03, id="the inverse of the cases needed"),
        pytest.param(27, 0.0, 0.2252, id="none changed: all that change go one way"),
        pytest.param(1, 1.0, 0.9418, id="one case"),
    ],
)
def test_the_smallest_difference_in_passes(n, discordance, effect):
    found = smallest_effect(n, discordance=discordance)
    assert found == (None if effect is None else pytest.approx(effect, abs=5e-5))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(lambda: cases_needed(0.1), "must be a number from 0", id="nothing is known of the spread"),
        pytest.param(lambda: cases_needed(0.1, variance=1.0, discordance=0.5), "not both", id="both are"),
        pytest.param(lambda: cases_needed(0.1, variance=-1.0), "from 0", id="a variance below 0"),
        pytest.param(lambda: cases_needed(0.1, variance=math.nan), "variance must be a finite number", id="NaN"),
        pytest.param(lambda: cases_needed(0.3, discordance=0.2), "size of the effect", id="more than ever differ"),
        pytest.param(lambda: smallest_effect(9, discordance=1.2), "from 0 to 1", id="more than all differ"),
        pytest.param(lambda: smallest_effect(-1, variance=1.0), "counted from 0", id="cases below 0"),
        pytest.param(lambda: quantiles(95), "level must be between 0 and 1", id="a level in percent"),
        pytest.param(lambda: quantiles(power=1.0), "power must be between 0 and 1", id="certain power"),
        pytest.param(lambda: paired_variance(-1.0), "from 0", id="omega squared below 0"),
        pytest.param(lambda: paired_variance(1.0, repeats=(0, 1)), "repeats from 1", id="no repeats"),
    ],
)
def test_what_cannot_be_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@rounds(2_000)
def test_both_are_as_statsmodels_has_them_and_undo_each_other(rounds):
    draw = random.Random(2024)
    for _ in range(rounds):
        level, power = draw.uniform(0.5, 0.999), draw.uniform(0.5, 0.99)
        effect, variance = draw.choice([-1, 1]) * 10 ** draw.uniform(-3, 1), 10 ** draw.uniform(-4, 1)
        z = norm.ppf((1 + level) / 2) + norm.ppf(power)
        assert quantiles(level, power) == pytest.approx(z, rel=1e-9)
        other = normal_sample_size_one_tail(effect, power, (1 - level) / 2, math.sqrt(variance))
        n = cases_needed(effect, variance=variance, level=level, power=power)
        assert n == max(1, math.ceil(other * (1 - 1e-9) - 1e-9)) or n == math.ceil(other)
        assert smallest_effect(n, variance=variance, level=level, power=power) <= abs(effect) * (1 + 1e-9)
        share = draw.uniform(0, 1)
        shift = draw.uniform(0.02, 1) * share
        if shift > 1e-6:
            n = cases_needed(shift, discordance=share, level=level, power=power)
            assert n == cases_needed(shift, variance=share - shift**2, level=level, power=power)
            assert smallest_effect(n, discordance=share, level=level, power=power) <= shift * (1 + 1e-9)


def test_so_many_cases_find_it_in_four_of_five_attempts():
    """Of 865 cases of which one in ten changes, by 3 points; the exact test asks for a little more than the formula."""
    source, found = np.random.default_rng(7), 0
    for up, down, _ in source.multinomial(865, [0.065, 0.035, 0.9], 2_000):
        found += sign_test(int(down), int(up)) < 0.05
    assert 0.75 < found / 2_000 < 0.83
