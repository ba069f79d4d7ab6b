"""pass@k and pass^k: whether any of k tries, or all of them, would pass."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from .argument_checks import check_arguments
from .intervals import LEVEL, Interval
from .means import clustered_share_interval, hull, mean


@dataclass(frozen=True, slots=True, kw_only=True)
class PassAtK:
    """pass@k or pass^k over several cases."""

    k: int
    value: float | None
    """The mean over cases; None if no case has k tries."""
    n: int
    """Cases with at least k tries."""
    left_out: int
    """Cases with fewer tries."""
    interval: Interval


@check_arguments
def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Return the probability that at least one of `k` tries passes, drawn from `n` of which `c` passed; None if n < k.

    1 - C(n - c, k) / C(n, k), unbiased, in whole numbers and rounded once. Chen et al., Evaluating large language models
    trained on code (2021).

    Args:
        n: How many tries there were.
        c: How many of them passed, from 0 to `n`.
        k: How many tries are drawn; at least 1.

    Returns:
        The probability from 0 to 1; None if n < k.

    Raises:
        ValueError: not 0 <= c <= n, or k < 1.

    >>> pass_at_k(5, 2, 2), pass_at_k(1, 1, 2)
    (0.7, None)
    """
    _check(n, c, k)
    return None if n < k else (math.comb(n, k) - math.comb(n - c, k)) / math.comb(n, k)


@check_arguments
def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """Return the probability that all of `k` tries pass (pass^k), drawn from `n` of which `c` passed; None if n < k.

    C(c, k) / C(n, k), unbiased, in whole numbers and rounded once. Yao et al., tau-bench (2024).

    Args:
        n: How many tries there were.
        c: How many of them passed, from 0 to `n`.
        k: How many tries are drawn; at least 1.

    Returns:
        The probability from 0 to 1; None if n < k.

    Raises:
        ValueError: not 0 <= c <= n, or k < 1.

    >>> pass_hat_k(5, 2, 2), pass_hat_k(4, 3, 2)
    (0.1, 0.5)
    """
    _check(n, c, k)
    return None if n < k else math.comb(c, k) / math.comb(n, k)


@check_arguments
def mean_pass_at_k(
    cases: Sequence[tuple[int, int]],
    k: int,
    level: float = LEVEL,
    *,
    clusters: Sequence[Hashable] | None = None,
    unit: str = "case",
) -> PassAtK:
    """Return the mean of `pass_at_k` over `cases`, each (tries, passed), with an interval over cases.

    Tries of different cases are independent, so each case is one share from 0 to 1, and the interval is that of
    `clustered_share_interval` over cases, never over tries. With `clusters`, the cluster of each case, such as its
    document, the interval is over clusters, and never narrower than over cases; `unit` is what its method calls them.

    >>> found = mean_pass_at_k([(5, 2), (5, 5), (5, 0), (1, 1)], 2)
    >>> round(found.value, 4), found.n, found.left_out, found.interval.method
    (0.5667, 3, 1, 'Jeffreys')
    """
    return _over_cases(pass_at_k, cases, k, level, (clusters, unit))


@check_arguments
def mean_pass_hat_k(
    cases: Sequence[tuple[int, int]],
    k: int,
    level: float = LEVEL,
    *,
    clusters: Sequence[Hashable] | None = None,
    unit: str = "case",
) -> PassAtK:
    """Return the mean of `pass_hat_k` over `cases`, each (tries, passed); the interval is as in `mean_pass_at_k`.

    >>> mean_pass_hat_k([(5, 2), (5, 5), (5, 0), (1, 1)], 5).value == 1 / 3
    True
    """
    return _over_cases(pass_hat_k, cases, k, level, (clusters, unit))


def _over_cases(
    of_case: Callable[[int, int, int], float | None],
    cases: Sequence[tuple[int, int]],
    k: int,
    level: float,
    clustered: tuple[Sequence[Hashable] | None, str],
) -> PassAtK:
    clusters, unit = clustered
    if clusters is not None and len(clusters) != len(cases):
        raise ValueError(f"{len(cases)} cases but {len(clusters)} clusters")
    known = {(n, c): of_case(n, c, k) for n, c in set(cases)}
    groups: defaultdict[Hashable, list[float]] = defaultdict(list)
    for case, cluster in zip(cases, range(len(cases)) if clusters is None else clusters, strict=True):
        if (value := known[case]) is not None:
            groups[cluster].append(value)
    values = [value for group in groups.values() for value in group]
    interval = clustered_share_interval(values, [1.0] * len(values), level)
    if len(groups) < len(values):
        shares = [math.fsum(group) / len(group) for group in groups.values()]
        apart = clustered_share_interval(shares, [*map(len, groups.values())], level)
        interval = hull(replace(apart, method=f"{apart.method}, clustered by {unit}"), interval)
    return PassAtK(k=k, value=mean(values), n=len(values), left_out=len(cases) - len(values), interval=interval)


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise ValueError(f"passed tries must be from 0 to all, got {c!r} of {n!r}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k!r}")
