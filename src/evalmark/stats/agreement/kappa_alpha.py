"""Chance-corrected agreement: Cohen's kappa and Krippendorff's alpha."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, combinations
from typing import Literal

from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Interval, no_interval
from evalmark.stats.inference.means import FEW, mean, mean_interval

Scale = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = bool | Literal["linear", "quadratic"]
"""How two values are compared: equal or not, by distance, or by squared distance, which True means, too."""
ROUNDING = 1e-12
"""If no output influences the agreement by more than this, its spread is unknown."""
Unit = tuple[float, ...]
"""The scores of one output."""


@check_arguments
def cohen_kappa(first: Sequence[float], second: Sequence[float], *, weighted: Weights = False) -> float | None:
    """Return the agreement of two judges beyond chance: 1 is always, 0 is chance level; None if it is undefined.

    Unweighted, two values are equal or not (Cohen 1960). `weighted` uses the squared distance of two numbers
    (Cohen 1968, quadratic weights), which for fractions is Lin's coefficient of concordance, or the distance
    itself (`"linear"`). None without values, and if both judges always give one and the same value.

    Args:
        first: The values of one judge.
        second: Those of the other for the same outputs.
        weighted: False for equal or not; True or `"quadratic"`, or `"linear"`, for numbers.

    Returns:
        The agreement, from -1 to 1; None if undefined.

    >>> round(cohen_kappa([1, 1, 1, 0, 0, 1, 0, 1], [1, 1, 0, 0, 0, 1, 0, 1]), 3)
    0.75
    >>> round(cohen_kappa([1, 2, 3, 4, 5], [1, 2, 3, 4, 4], weighted=True), 3)
    0.941
    """
    return _kappa(first, second, weighted=weighted)[0]


@check_arguments
def kappa_with_interval(
    first: Sequence[float],
    second: Sequence[float],
    *,
    weighted: Weights = False,
    clusters: Sequence[Hashable] | None = None,
    level: float = LEVEL,
) -> tuple[float | None, Interval]:
    """Return `cohen_kappa` and its interval; `clusters` names the case of each output if cases were repeated.

    The interval uses the influence of each output on kappa, which for outputs of different cases is the standard
    error of Fleiss, Cohen and Everitt (1969).
    """
    found, pulls = _kappa(first, second, weighted=weighted)
    return found, agreement_interval(found, pulls, clusters, level)


@check_arguments
def krippendorff_alpha(units: Iterable[Sequence[float]], level: Scale = "nominal") -> float | None:
    """Return the agreement of any number of judges beyond chance: 1 is always, 0 is chance level.

    Units with fewer than two scores are left out. None if there are no others, and if all scores are equal.
    Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).

    Args:
        units: For each output the scores of all judges that scored it.
        level: The scale of the scores.

    Returns:
        The agreement, at most 1; None if undefined.

    Raises:
        ValueError: a number of a ratio scale is below 0.

    >>> krippendorff_alpha([[0, 1], [0, 1], [1, 0], [1, 0]])
    -0.75
    """
    return _alpha(*_prepared(units, level))[0]


@check_arguments
def alpha_with_interval(
    units: Iterable[Sequence[float]],
    level: Scale = "nominal",
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = LEVEL,
) -> tuple[float | None, Interval]:
    """Return `krippendorff_alpha` of units with at least two scores, and its interval from the influence of each unit."""
    found, pulls = _alpha(*_prepared(units, level))
    return found, agreement_interval(found, pulls, clusters, confidence)


def _kappa(first: Sequence[float], second: Sequence[float], *, weighted: Weights) -> tuple[float | None, list[float]]:
    """Return kappa and the influence of each output on it; the influences add up to 0."""
    n = len(first)
    if len({*first, *second}) < 2:
        return None, []
    distances = _steps if weighted == "linear" else _squares if weighted else _differences
    apart, by_luck = distances(first, second)
    observed, expected = math.fsum(apart) / n, math.fsum(by_luck) / (2 * n)
    if not math.isfinite(expected) or expected == 0:
        return None, []
    ratio = observed / expected
    pulls = [
        (ratio * (luck - 2 * expected) - (a - observed)) / expected for a, luck in zip(apart, by_luck, strict=True)
    ]
    return 1 - ratio, pulls


def _differences(first: Sequence[float], second: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return whether each pair differs, and how often each value differs from a random one of the other judge."""
    n, by_first, by_second = len(first), Counter(first), Counter(second)
    apart = [float(x != y) for x, y in zip(first, second, strict=True)]
    return apart, [2 - (by_second[x] + by_first[y]) / n for x, y in zip(first, second, strict=True)]


def _squares(first: Sequence[float], second: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the squared distance of each pair, and of each value to a random one of the other judge."""
    apart = [(x - y) * (x - y) for x, y in zip(first, second, strict=True)]
    (one, spread_one), (other, spread_other) = _moments(first), _moments(second)
    both = spread_one + spread_other
    return apart, [(x - other) * (x - other) + (y - one) * (y - one) + both for x, y in zip(first, second, strict=True)]


def _steps(first: Sequence[float], second: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the distance of each pair, and of each value to a random one of the other judge."""
    apart = [abs(x - y) for x, y in zip(first, second, strict=True)]
    to_second, to_first = _distances(first, second), _distances(second, first)
    return apart, [a + b for a, b in zip(to_second, to_first, strict=True)]


def _distances(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return the mean distance of each value to the others."""
    others = sorted(others)
    n, sums = len(others), list(accumulate(others, initial=0.0))
    below = [bisect_left(others, x) for x in values]
    return [(x * (2 * k - n) + sums[n] - 2 * sums[k]) / n for x, k in zip(values, below, strict=True)]


def _moments(values: Sequence[float]) -> tuple[float, float]:
    centre = mean(values) or 0.0
    return centre, math.fsum((x - centre) * (x - centre) for x in values) / len(values)


def _prepared(units: Iterable[Sequence[float]], level: Scale) -> tuple[list[Sequence[float]], Scale]:
    """Return units with at least two scores; ordinal scores become ranks, whose distances are the ordinal ones."""
    told = [unit for unit in units if len(unit) > 1]
    if level == "ordinal":
        ranks = _ranks(Counter(x for unit in told for x in unit))
        told = [[ranks[x] for x in unit] for unit in told]
    if level == "ratio" and (negative := [x for unit in told for x in unit if x < 0]):
        raise ValueError(f"numbers of a ratio scale must not be below 0, got {negative[0]!r}; take the interval scale")
    return told, level


def _ranks(counts: Mapping[float, int]) -> dict[float, float]:
    """Return the mean rank of each value among all scores."""
    ranks, below = {}, 0
    for value in sorted(counts):
        ranks[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    return ranks


def _alpha(units: Sequence[Sequence[float]], scale: Scale) -> tuple[float | None, list[float]]:
    """Return alpha and the influence of each unit on it; the influences add up to 0."""
    said = [x for unit in units for x in unit]
    n = len(said)
    if len(set(said)) < 2:
        return None, []
    kinds = set(map(tuple, units))  # equal units are computed once
    apart = {unit: _apart(unit, scale) / (len(unit) - 1) for unit in kinds}
    all_apart = {"nominal": _words_apart, "ratio": _ratios_apart}.get(scale, _numbers_apart)
    total, slopes = all_apart(said, kinds)
    if not math.isfinite(total) or total == 0:
        return None, []
    observed = math.fsum(apart[tuple(unit)] for unit in units)
    ratio = (n - 1) * observed / total
    # the derivative of alpha by the weight of a unit, times the number of units
    moves = {
        unit: (ratio * slopes[unit] - (n - 1) * apart[unit] - observed * len(unit)) * len(units) / total
        for unit in kinds
    }
    pulls = [moves[tuple(unit)] for unit in units]
    middle = math.fsum(pulls) / len(pulls)
    return 1 - ratio, [pull - middle for pull in pulls]


def _apart(unit: Sequence[float], scale: Scale) -> float:
    """Return the distances of all pairs within a unit."""
    if scale == "nominal":
        return float(sum(x != y for x, y in combinations(unit, 2)))
    if scale == "ratio":
        return math.fsum(_ratio(x, y) for x, y in combinations(unit, 2))
    return math.fsum((x - y) * (x - y) for x, y in combinations(unit, 2))


def _ratio(x: float, y: float) -> float:
    share = 0.0 if x == y else (x - y) / (x + y)
    return share * share


def _ratios_apart(said: Sequence[float], units: Iterable[Unit]) -> tuple[float, dict[Unit, float]]:
    """Return the squared ratios of all pairs, and how their sum grows with each unit."""
    counts = Counter(said)
    to_all = {x: math.fsum(times * _ratio(x, y) for y, times in counts.items()) for x in counts}
    total = math.fsum(times * to_all[x] for x, times in counts.items()) / 2
    return total, {unit: math.fsum(to_all[x] for x in unit) for unit in units}


def _words_apart(said: Sequence[float], units: Iterable[Unit]) -> tuple[float, dict[Unit, float]]:
    """Return how many pairs differ, and how that number grows with each unit."""
    n, counts = len(said), Counter(said)
    total = (n * n - sum(c * c for c in counts.values())) / 2
    return total, {unit: float(n * len(unit) - sum(counts[x] for x in unit)) for unit in units}


def _numbers_apart(said: Sequence[float], units: Iterable[Unit]) -> tuple[float, dict[Unit, float]]:
    """Return the squared distances of all pairs, and how their sum grows with each unit."""
    n, (centre, spread) = len(said), _moments(said)
    return n * n * spread, {
        unit: len(unit) * n * spread + n * math.fsum((x - centre) * (x - centre) for x in unit) for unit in units
    }


def agreement_interval(
    found: float | None, pulls: Sequence[float], clusters: Sequence[Hashable] | None, level: float
) -> Interval:
    """Return the interval of an agreement from the influences of the outputs; none below 10 cases."""
    if found is None:
        return no_interval("there is nothing to tell agreement from", level)
    if (len(pulls) if clusters is None else len(set(clusters))) < FEW:
        return no_interval(f"fewer than {FEW} cases", level)
    if all(abs(pull) < ROUNDING for pull in pulls):
        return no_interval("all values are equal", level)
    around = mean_interval([found + pull for pull in pulls], level, clusters=clusters, bounded=False)
    if around.low is None or around.high is None:
        return around
    return Interval(low=max(-1.0, around.low), high=min(1.0, around.high), level=level, method=around.method)
