"""The bootstrap interval against scipy's own."""

import numpy
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.stats.inference.bootstrap import RESAMPLES, bca


def of_scipy(values, level, seed):
    found = scipy.stats.bootstrap(
        (numpy.sort(numpy.asarray(values, dtype=float)),),
        numpy.mean,
        n_resamples=RESAMPLES,
        confidence_level=level,
        method="BCa",
        batch=500,
        rng=numpy.random.default_rng(seed),
    ).confidence_interval
    return found.low, found.high


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [10, 37, 299])
@pytest.mark.parametrize("shape", [(1, 1), (0.5, 0.5), (8, 1)])
def test_it_is_the_interval_that_scipy_gives(n, level, shape):
    values = numpy.random.default_rng(n).beta(*shape, n)
    assert bca(values, level, seed=n) == pytest.approx(of_scipy(values, level, n), abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=12, max_size=60).filter(
        lambda v: len(set(v)) > 3
    )
)
def test_also_with_many_ties(values):
    assert bca(values, 0.95, seed=1) == pytest.approx(of_scipy(values, 0.95, 1), abs=1e-12)


def test_the_order_of_the_values_does_not_matter():
    values = list(numpy.random.default_rng(5).uniform(size=40))
    assert bca(values, 0.95, seed=0) == bca(values[::-1], 0.95, seed=0)
