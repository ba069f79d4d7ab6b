"""Adjusts the p-values of simultaneous tests."""

from collections.abc import Iterable, Sequence

from .argument_checks import check_arguments


@check_arguments
def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p-values in the given order; None stays None and does not count as a test.

    Rejecting those below 0.05 keeps the probability of any false rejection below 5 %, whatever the dependence
    between the tests; used for gates. Holm, A simple sequentially rejective multiple test procedure (1979).

    Args:
        ps: The p-values, from 0 to 1; None where no test was possible.

    Returns:
        The adjusted p-values, from 0 to 1.

    Raises:
        ValueError: a p is not from 0 to 1.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    ranked = _ranked(ps)
    adjusted, highest = list(ps), 0.0
    for rank, (p, place) in enumerate(ranked):
        highest = max(highest, min(1.0, (len(ranked) - rank) * p))
        adjusted[place] = highest
    return adjusted


@check_arguments
def benjamini_hochberg(ps: Sequence[float | None]) -> list[float | None]:
    """Return Benjamini and Hochberg's adjusted p-values in the given order; None stays None and does not count as a test.

    Rejecting those below 0.05 keeps the expected share of false rejections below 5 %, for independent or
    positively dependent tests; used for exploration. Benjamini and Hochberg, Controlling the false discovery rate
    (1995).

    Args:
        ps: The p-values, from 0 to 1; None where no test was possible.

    Returns:
        The adjusted p-values, from 0 to 1.

    Raises:
        ValueError: a p is not from 0 to 1.

    >>> benjamini_hochberg([0.01, 0.04, None, 0.03])
    [0.03, 0.04, None, 0.04]
    """
    ranked = _ranked(ps)
    adjusted, lowest = list(ps), 1.0
    for rank, (p, place) in reversed([*enumerate(ranked, 1)]):
        lowest = min(lowest, p * (len(ranked) / rank))
        adjusted[place] = lowest
    return adjusted


def _ranked(ps: Iterable[float | None]) -> list[tuple[float, int]]:
    """Return the known p-values, the smallest first, each with its position."""
    known = [(p, place) for place, p in enumerate(ps) if p is not None]
    for p, _ in known:
        if not 0 <= p <= 1:
            raise ValueError(f"p must be from 0 to 1, got {p!r}")
    return sorted(known)
