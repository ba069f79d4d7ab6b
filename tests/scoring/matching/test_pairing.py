"""Lists paired off: never fewer pairs than another method finds, and never one item twice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from evalmark.scoring.matching.pairing import best_ordered_pairs, can_pair_all, maximum_pairs

GRIDS = st.integers(0, 7).flatmap(
    lambda rights: st.lists(st.lists(st.integers(0, 3), min_size=rights, max_size=rights), max_size=7)
)
"""What each left item is worth with each right one, up to 7 of both."""


def width(grid):
    return len(grid[0]) if grid else 0


def greedy(grid):
    """As many pairs as whoever takes the first that fits gets."""
    taken = set()
    for row in grid:
        taken |= {next((right for right, worth in enumerate(row) if worth and right not in taken), None)}
    return len(taken - {None})


def best_in_order(grid, left=0, right=0):
    """The most that pairs which do not cross can be worth, by trying all of them."""
    if left >= len(grid) or right >= width(grid):
        return 0
    worth = grid[left][right]
    together = worth + best_in_order(grid, left + 1, right + 1) if worth else 0
    return max(together, best_in_order(grid, left + 1, right), best_in_order(grid, left, right + 1))


class TestInAnyOrder:
    @given(GRIDS)
    def test_there_are_as_many_pairs_as_scipy_finds(self, grid):
        pairs = maximum_pairs(len(grid), width(grid), lambda left, right: grid[left][right] > 0)
        fits = np.array(grid, dtype=float).reshape(len(grid), width(grid)) > 0
        rows, columns = linear_sum_assignment(fits, maximize=True)
        assert len(pairs) == fits[rows, columns].sum()
        assert len(pairs) >= greedy(grid)

    @given(GRIDS)
    def test_each_pair_fits_and_nothing_stands_in_two(self, grid):
        pairs = maximum_pairs(len(grid), width(grid), lambda left, right: grid[left][right] > 0)
        assert all(grid[left][right] for left, right in pairs.items())
        assert len(set(pairs.values())) == len(pairs)
        assert list(pairs) == sorted(pairs)

    @given(GRIDS, st.randoms())
    def test_the_order_of_the_items_does_not_change_how_many_pairs_there_are(self, grid, random):
        rows, columns = list(range(len(grid))), list(range(width(grid)))
        before = maximum_pairs(len(rows), len(columns), lambda left, right: grid[left][right] > 0)
        random.shuffle(rows)
        random.shuffle(columns)
        after = maximum_pairs(len(rows), len(columns), lambda left, right: grid[rows[left]][columns[right]] > 0)
        assert len(before) == len(after)

    @given(GRIDS)
    def test_all_are_paired_where_there_are_as_many_pairs_as_left_items(self, grid):
        def fits(left, right):
            return grid[left][right] > 0

        every = len(maximum_pairs(len(grid), width(grid), fits)) == len(grid)
        assert can_pair_all(len(grid), width(grid), fits) is every

    @given(GRIDS.filter(width), st.data())
    def test_what_is_likely_is_a_hint_and_no_answer(self, grid, data):
        def fits(left, right):
            return grid[left][right] > 0

        hints = st.lists(st.integers(0, width(grid) - 1), min_size=len(grid), max_size=len(grid))
        without = can_pair_all(len(grid), width(grid), fits)
        assert can_pair_all(len(grid), width(grid), fits, data.draw(hints)) is without

    def test_a_chain_of_a_thousand_moves_needs_no_recursion(self):
        size = 1_000
        pairs = maximum_pairs(
            size, size, lambda left, right: right in (left, left + 1) if left < size - 1 else right == 0
        )
        assert len(pairs) == size
        assert pairs[size - 1] == 0

    def test_the_same_pair_is_asked_for_once(self):
        asked = []
        maximum_pairs(3, 3, lambda left, right: asked.append((left, right)) or right == 0)
        assert len(asked) == len(set(asked))


class TestInOrder:
    @given(GRIDS)
    def test_the_pairs_are_worth_the_most_and_do_not_cross(self, grid):
        pairs = best_ordered_pairs(len(grid), width(grid), lambda left, right: grid[left][right])
        assert sum(grid[left][right] for left, right in pairs.items()) == best_in_order(grid)
        assert list(pairs) == sorted(pairs)
        assert list(pairs.values()) == sorted(set(pairs.values()))
        assert all(grid[left][right] for left, right in pairs.items())

    @pytest.mark.parametrize(
        ("lefts", "rights", "pairs"),
        [
            pytest.param("ab", "ba", {0: 1}, id="the earlier left item is served first"),
            pytest.param("a", "aa", {0: 0}, id="by the earlier right one"),
            pytest.param("ab", "xaxbx", {0: 1, 1: 3}, id="others stand between"),
            pytest.param("ab", "abab", {0: 0, 1: 1}, id="the early ones of several"),
            pytest.param("", "a", {}, id="nothing on the left"),
            pytest.param("a", "", {}, id="nothing on the right"),
        ],
    )
    def test_where_there_is_a_choice(self, lefts, rights, pairs):
        assert best_ordered_pairs(len(lefts), len(rights), lambda left, right: lefts[left] == rights[right]) == pairs
