"""Adjusted p-values, against the paper of 1995, statsmodels and scipy."""

# ruff: noqa: S311  seeded draws, not secrets

import gc
import random

import numpy as np
import pytest
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from evalmark.stats.inference.multiple_tests import benjamini_hochberg, holm

from .draws import rounds

PAPER = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1]  # fmt: skip
"""Benjamini and Hochberg (1995), section 4.1."""


def test_benjamini_and_hochbergs_fifteen():
    found = benjamini_hochberg(PAPER)
    expected = [0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.063857, 0.063857, 0.0645, 0.0765, 0.486, 0.581182, 0.714875, 0.753231, 0.813214, 1]  # fmt: skip
    assert [round(p, 6) for p in found] == expected
    assert sum(p <= 0.05 for p in found) == 4


def test_holms_fifteen():
    found = holm(PAPER)
    assert [round(p, 6) for p in found[:9]] == [0.0015, 0.0056, 0.0247, 0.1140, 0.2211, 0.278, 0.278, 0.278, 0.3213]
    assert set(found[9:]) == {1.0}
    assert sum(p <= 0.05 for p in found) == 3


@pytest.mark.parametrize("adjusted", [holm, benjamini_hochberg])
@pytest.mark.parametrize(
    ("ps", "expected"),
    [
        pytest.param([], [], id="no tests"),
        pytest.param([None, None], [None, None], id="no p is known"),
        pytest.param([0.03], [0.03], id="one test is as it is"),
        pytest.param([None, 0.03, None], [None, 0.03, None], id="what is not known is no test"),
        pytest.param([1.0, 1.0], [1.0, 1.0], id="all certain luck"),
        pytest.param([0.0, 0.0], [0.0, 0.0], id="all certain"),
    ],
)
def test_few_and_unknown(adjusted, ps, expected):
    assert adjusted(ps) == expected


@pytest.mark.parametrize("adjusted", [holm, benjamini_hochberg])
@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), float("inf")])
def test_what_is_no_p_is_refused(adjusted, p):
    with pytest.raises(ValueError, match=r"from 0 to 1|finite number"):
        adjusted([0.5, p])


@pytest.fixture
def quick_to_collect():
    """The Holm of statsmodels collects garbage in each call; what is there already need not be looked through."""
    gc.freeze()
    yield
    gc.unfreeze()


@rounds(1_000)
@pytest.mark.usefixtures("quick_to_collect")
def test_families_of_tests_are_as_statsmodels_and_scipy_have_them(rounds):
    draw = random.Random(1979)
    for number in range(rounds):
        size = draw.choice([1, 2, 3, draw.randrange(1, 30), 3_000 if number % 500 == 0 else 4])
        ps = [draw.choice([draw.random(), draw.random() ** 4, 0.05, 0.0, 1.0]) for _ in range(size)]
        strict, loose = np.array(holm(ps)), np.array(benjamini_hochberg(ps))
        assert abs(strict - multipletests(ps, method="holm")[1]).max() < 1e-14
        assert abs(loose - multipletests(ps, method="fdr_bh")[1]).max() < 1e-14
        assert abs(loose - false_discovery_control(ps)).max() < 1e-14
        assert (ps <= loose).all()
        assert (loose <= strict + 1e-15).all()


@pytest.mark.parametrize("adjusted", [holm, benjamini_hochberg])
def test_the_order_does_not_matter_and_unknown_ones_keep_their_place(adjusted):
    draw = random.Random(2)
    for _ in range(300):
        ps = [draw.choice([None, draw.random(), 0.01]) for _ in range(draw.randrange(12))]
        order = draw.sample(range(len(ps)), len(ps))
        found = adjusted(ps)
        assert adjusted([ps[i] for i in order]) == [found[i] for i in order]
