"""How many cases a comparison needs where they depend on each other."""

import numpy as np
import pytest

from evalmark.stats.inference.clustered_power import (
    cluster_size,
    clustered_cases_needed,
    clustered_pairs_needed,
    intraclass,
)
from evalmark.stats.inference.power import pairs_needed


def test_the_correlation_is_that_of_the_analysis_of_variance():
    # Shrout and Fleiss (1979), six targets and four judges: ICC(1,1) is .17
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    values = [float(value) for row in ratings for value in row]
    low, found, high = intraclass(values, [target for target, row in enumerate(ratings) for _ in row])
    assert found == pytest.approx(0.1657, abs=1e-4)
    assert (low, round(high, 3)) == (0.0, 0.723)


@pytest.mark.parametrize(
    ("values", "clusters", "expected"),
    [
        pytest.param([0.0, 1.0], ["a", "b"], None, id="each in a cluster of its own"),
        pytest.param([0.0, 1.0], ["a", "a"], None, id="one cluster"),
        pytest.param([1.0] * 4, ["a", "a", "b", "b"], None, id="values that are all equal"),
        pytest.param([0.0, 0.0, 1.0, 1.0], ["a", "a", "b", "b"], (1.0, 1.0, 1.0), id="clusters that pass as a whole"),
        pytest.param([], [], None, id="nothing"),
    ],
)
def test_what_the_values_cannot_show_is_unknown(values, clusters, expected):
    assert intraclass(values, clusters) == expected


@pytest.mark.parametrize("icc", [0.0, 0.3])
def test_the_interval_holds_the_correlation_of_normal_values(icc):
    source, held = np.random.default_rng(5), 0
    clusters = [document for document in range(20) for _ in range(10)]
    for _ in range(400):
        shared = np.repeat(source.normal(size=20), 10) * icc**0.5
        low, _, high = intraclass(list(shared + source.normal(size=200) * (1 - icc) ** 0.5), clusters, 0.8)
        held += low <= icc <= high
    assert 0.74 <= held / 400 <= (1.0 if icc == 0 else 0.86)


def test_large_clusters_count_more():
    assert cluster_size(["a"] * 8 + ["b"] * 2) == 6.8
    assert cluster_size(["a", "b"]) == 1


def test_more_correlation_needs_more_cases_and_none_about_as_many_as_independent_ones():
    found = [clustered_pairs_needed(0.1, 0.2, 10, (0.0, icc)) for icc in (0.0, 0.1, 0.3, 0.6, 1.0)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(pairs_needed(0.1, 0.3), rel=0.15)
    assert clustered_pairs_needed(0.1, 0.2, 10, (0.3, 0.3)) > found[2]


def test_fewer_than_ten_clusters_decide_nothing():
    assert clustered_pairs_needed(0.5, 0.1, 20, (0.0, 0.0)) == 200
    assert clustered_cases_needed(0.5, 0.01, 20) == 200


def test_an_effect_that_no_number_finds_is_unknown():
    assert clustered_cases_needed(0.0, 0.3, 10) is None
