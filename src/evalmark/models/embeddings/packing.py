"""Which texts go into the model together."""

from collections.abc import Sequence

BUDGET = 512
"""Tokens of one batch, padding included: few enough for its numbers to stay in a processor's own cache."""


def pack(lengths: Sequence[int], budget: int = BUDGET) -> list[list[int]]:
    """Indices in batches, the longest first: hardly any padding, and no batch over the budget.

    A text longer than the budget is a batch of its own.

    >>> pack([3, 9, 4, 2], budget=10)
    [[1], [2, 0], [3]]
    """
    batches: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not batches or longest * (len(batches[-1]) + 1) > budget:
            batches.append([])
            longest = lengths[index]
        batches[-1].append(index)
    return batches
