"""Cosines beside numpy's own arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.scoring.builtin.cosine import cosines, rows

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(1, 5), st.integers(1, 40), st.integers(1, 400))
def test_every_pair_is_what_it_is_alone_wherever_it_stands(seed, many, more, size):
    these, those = (np.random.default_rng(seed + i).normal(size=(n, size)) for i, n in enumerate((many, more)))
    found = cosines(these, those)
    for i, j in ((0, 0), (many - 1, more - 1)):
        assert found[i, j] == cosines(these[i : i + 1], those[j : j + 1])[0, 0]
        wanted = these[i] @ those[j] / (np.linalg.norm(these[i]) * np.linalg.norm(those[j]))
        assert found[i, j] == pytest.approx(wanted, abs=1e-12)


def test_no_rows_give_no_cosines():
    assert cosines(np.zeros((0, 3)), np.zeros((2, 3))).shape == (0, 2)
    assert cosines(np.zeros((2, 3)), np.zeros((0, 0))).shape == (2, 0)


def test_single_precision_is_computed_in_double():
    assert rows(np.ones((1, 2), np.float32)).dtype == np.float64
