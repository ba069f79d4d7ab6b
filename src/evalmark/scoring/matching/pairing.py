"""Pairs the items of two lists one to one."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

Fits = Callable[[int, int], bool]
"""Return whether the left item with one index can be paired with the right item of another."""


@dataclass(slots=True)
class _Pairs:
    """The pairs so far, from both sides."""

    of_left: dict[int, int] = field(default_factory=dict)
    of_right: dict[int, int] = field(default_factory=dict)
    likely: Sequence[int] = ()


def maximum_pairs(lefts: int, rights: int, fits: Fits) -> dict[int, int]:
    """Return as many pairs as possible, from left index to right index.

    This is a maximum matching in a bipartite graph, by augmenting paths (Kuhn 1955). The pairs may depend on the order of
    the items; their number does not. `fits` is called at most once per pair.

    >>> maximum_pairs(2, 2, lambda left, right: (left, right) in {(0, 0), (0, 1), (1, 0)})
    {0: 1, 1: 0}
    """
    pairs, known = _Pairs(), _cached_fits(fits, rights)
    for left in range(lefts):
        _pair_one_more(left, rights, known, pairs)
    return dict(sorted(pairs.of_left.items()))


def can_pair_all(lefts: int, rights: int, fits: Fits, likely: Sequence[int] = ()) -> bool:
    """Return whether every left item can have a right item of its own; `likely` names a first candidate for each.

    >>> can_pair_all(2, 2, lambda left, right: right == 0)
    False
    """
    pairs, known = _Pairs(likely=likely), _cached_fits(fits, rights)
    return lefts <= rights and all(_pair_one_more(left, rights, known, pairs) for left in range(lefts))


def _cached_fits(fits: Fits, rights: int) -> Fits:
    """Return `fits` with a cache of one byte per pair: 3,000 items per side take 9 MB."""
    rows: dict[int, bytearray] = {}

    def known(left: int, right: int) -> bool:
        if left not in rows:
            rows[left] = bytearray(rights)
        row = rows[left]
        if not row[right]:
            row[right] = 2 if fits(left, right) else 1
        return row[right] == 2

    return known


def _pair_one_more(unpaired: int, rights: int, fits: Fits, pairs: _Pairs) -> bool:
    """Pair one more left item, moving others if needed; a breadth-first search without recursion."""
    requested_by: dict[int, int] = {}
    waiting = deque([unpaired])
    while waiting:
        left = waiting.popleft()
        for right in chain(pairs.likely[left : left + 1], range(rights)):
            if right in requested_by or not fits(left, right):
                continue
            requested_by[right] = left
            if right not in pairs.of_right:
                _reassign(right, requested_by, pairs)
                return True
            waiting.append(pairs.of_right[right])
    return False


def _reassign(free: int, requested_by: dict[int, int], pairs: _Pairs) -> None:
    """Apply an augmenting path: give each left item on it the right item that it requested."""
    right: int | None = free
    while right is not None:
        left = requested_by[right]
        before = pairs.of_left.get(left)
        pairs.of_left[left], pairs.of_right[right] = right, left
        right = before


def best_ordered_pairs(lefts: int, rights: int, worth: Callable[[int, int], int]) -> dict[int, int]:
    """Return the pairs with the highest total worth that do not cross.

    This is an alignment by dynamic programming, as for the longest common subsequence. `worth` is 0 if two items cannot be
    paired. Ties prefer earlier left items, then earlier right items.

    >>> best_ordered_pairs(2, 3, lambda left, right: "ab"[left] == "bab"[right])
    {0: 1, 1: 2}
    """
    gains = [[worth(left, right) for right in range(rights)] for left in range(lefts)]
    best = [[0] * (rights + 1) for _ in range(lefts + 1)]
    for left in reversed(range(lefts)):
        for right in reversed(range(rights)):
            gain = gains[left][right]
            together = gain + best[left + 1][right + 1] if gain else 0
            best[left][right] = max(best[left + 1][right], best[left][right + 1], together)
    pairs, left, right = {}, 0, 0
    while left < lefts and right < rights:
        gain = gains[left][right]
        if gain and best[left][right] == gain + best[left + 1][right + 1]:
            pairs[left] = right
            left, right = left + 1, right + 1
        elif best[left][right] == best[left][right + 1]:
            right += 1
        else:
            left += 1
    return pairs
