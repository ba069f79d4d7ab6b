"""How far several judges of one metric agree, beyond what luck alone would bring about."""

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
"""How far two numbers are apart: at all, in steps, or squared, which True stands for too."""
ROUNDING = 1e-12
"""Where no output pulls an agreement further than that, nothing is known of its spread."""
Unit = tuple[float, ...]
"""What was said of one output."""


@check_arguments
def cohen_kappa(first: Sequence[float], second: Sequence[float], *, weighted: Weights = False) -> float | None:
    """How far two judges agree beyond luck: 1 always, 0 as often as luck has it; None when they show nothing.

    Unweighted, two words are the same or not (Cohen 1960); `weighted` counts the square of how far two
    numbers are apart (Cohen 1968, quadratic weights), which for numbers that are not whole is Lin's
    coefficient of concordance, or how far they are apart as it is (`"linear"`). None of nothing, and of judges who
    both always say one and the same.

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
    """`cohen_kappa` and its interval; `clusters` names the case of each output where cases were repeated.

    From the influence of each output on kappa, which for outputs of different cases is the standard
    error of Fleiss, Cohen and Everitt (1969).
    """
    found, pulls = _kappa(first, second, weighted=weighted)
    return found, agreement_interval(found, pulls, clusters, level)


@check_arguments
def krippendorff_alpha(units: Iterable[Sequence[float]], level: Scale = "nominal") -> float | None:
    """How far any number of judges agree beyond luck, from what was said of each unit: 1 always, 0 as luck has it.

    Units with fewer than two judgements tell nothing and are left out. None when nothing was said twice,
    and when all judges always say one and the same. Numbers of a ratio scale must not be below 0 (ValueError).
    Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).

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
    """`krippendorff_alpha` of units with at least two judgements, and its interval, from the influence of each unit."""
    found, pulls = _alpha(*_prepared(units, level))
    return found, agreement_interval(found, pulls, clusters, confidence)


def _kappa(first: Sequence[float], second: Sequence[float], *, weighted: Weights) -> tuple[float | None, list[float]]:
    """Kappa, and how far each output pulls it up or down; the pulls add up to 0."""
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
    """Whether each two words differ, and how often each would differ from a random word of the other judge."""
    n, by_first, by_second = len(first), Counter(first), Counter(second)
    apart = [float(x != y) for x, y in zip(first, second, strict=True)]
    return apart, [2 - (by_second[x] + by_first[y]) / n for x, y in zip(first, second, strict=True)]


def _squares(first: Sequence[float], second: Sequence[float]) -> tuple[list[float], list[float]]:
    """The squared distance of each two numbers, and of each to a random number of the other judge."""
    apart = [(x - y) * (x - y) for x, y in zip(first, second, strict=True)]
    (one, spread_one), (other, spread_other) = _moments(first), _moments(second)
    both = spread_one + spread_other
    return apart, [(x - other) * (x - other) + (y - one) * (y - one) + both for x, y in zip(first, second, strict=True)]


def _steps(first: Sequence[float], second: Sequence[float]) -> tuple[list[float], list[float]]:
    """The distance of each two numbers, and of each to a random number of the other judge."""
    apart = [abs(x - y) for x, y in zip(first, second, strict=True)]
    to_second, to_first = _distances(first, second), _distances(second, first)
    return apart, [a + b for a, b in zip(to_second, to_first, strict=True)]


def _distances(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """How far each value is from a random one of the others."""
    others = sorted(others)
    n, sums = len(others), list(accumulate(others, initial=0.0))
    below = [bisect_left(others, x) for x in values]
    return [(x * (2 * k - n) + sums[n] - 2 * sums[k]) / n for x, k in zip(values, below, strict=True)]


def _moments(values: Sequence[float]) -> tuple[float, float]:
    centre = mean(values) or 0.0
    return centre, math.fsum((x - centre) * (x - centre) for x in values) / len(values)


def _prepared(units: Iterable[Sequence[float]], level: Scale) -> tuple[list[Sequence[float]], Scale]:
    """Units with at least two judgements; those of an ordinal scale as ranks, whose distances are the ordinal ones."""
    told = [unit for unit in units if len(unit) > 1]
    if level == "ordinal":
        ranks = _ranks(Counter(x for unit in told for x in unit))
        told = [[ranks[x] for x in unit] for unit in told]
    if level == "ratio" and (negative := [x for unit in told for x in unit if x < 0]):
        raise ValueError(f"numbers of a ratio scale must not be below 0, got {negative[0]!r}; take the interval scale")
    return told, level


def _ranks(counts: Mapping[float, int]) -> dict[float, float]:
    """The mean rank of each value among all that were said."""
    ranks, below = {}, 0
    for value in sorted(counts):
        ranks[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    return ranks


def _alpha(units: Sequence[Sequence[float]], scale: Scale) -> tuple[float | None, list[float]]:
    """Alpha, and how far each unit pulls it up or down; the pulls add up to 0."""
    said = [x for unit in units for x in unit]
    n = len(said)
    if len(set(said)) < 2:
        return None, []
    kinds = set(map(tuple, units))  # many units are alike, and are reckoned once
    apart = {unit: _apart(unit, scale) / (len(unit) - 1) for unit in kinds}
    all_apart = {"nominal": _words_apart, "ratio": _ratios_apart}.get(scale, _numbers_apart)
    total, slopes = all_apart(said, kinds)
    if not math.isfinite(total) or total == 0:
        return None, []
    observed = math.fsum(apart[tuple(unit)] for unit in units)
    ratio = (n - 1) * observed / total
    # How alpha moves when a unit counts a little more, times the number of units.
    moves = {
        unit: (ratio * slopes[unit] - (n - 1) * apart[unit] - observed * len(unit)) * len(units) / total
        for unit in kinds
    }
    pulls = [moves[tuple(unit)] for unit in units]
    middle = math.fsum(pulls) / len(pulls)
    return 1 - ratio, [pull - middle for pull in pulls]


def _apart(unit: Sequence[float], scale: Scale) -> float:
    """The distances of all pairs within a unit."""
    if scale == "nominal":
        return float(sum(x != y for x, y in combinations(unit, 2)))
    if scale == "ratio":
        return math.fsum(_ratio(x, y) for x, y in combinations(unit, 2))
    return math.fsum((x - y) * (x - y) for x, y in combinations(unit, 2))


def _ratio(x: float, y: float) -> float:
    share = 0.0 if x == y else (x - y) / (x + y)
    return share * share


def _ratios_apart(said: Sequence[float], units: Iterable[Unit]) -> tuple[float, dict[Unit, float]]:
    """The squared ratios of all pairs of everything said, and how their sum grows with each unit."""
    counts = Counter(said)
    to_all = {x: math.fsum(times * _ratio(x, y) for y, times in counts.items()) for x in counts}
    total = math.fsum(times * to_all[x] for x, times in counts.items()) / 2
    return total, {unit: math.fsum(to_all[x] for x in unit) for unit in units}


def _words_apart(said: Sequence[float], units: Iterable[Unit]) -> tuple[float, dict[Unit, float]]:
    """How many pairs of everything said differ, and how that number grows with each unit."""
    n, counts = len(said), Counter(said)
    total = (n * n - sum(c * c for c in counts.values())) / 2
    return total, {unit: float(n * len(unit) - sum(counts[x] for x in unit)) for unit in units}


def _numbers_apart(said: Sequence[float], units: Iterable[Unit]) -> tuple[float, dict[Unit, float]]:
    """The squared distances of all pairs of everything said, and how their sum grows with each unit."""
    n, (centre, spread) = len(said), _moments(said)
    return n * n * spread, {
        unit: len(unit) * n * spread + n * math.fsum((x - centre) * (x - centre) for x in unit) for unit in units
    }


def agreement_interval(
    found: float | None, pulls: Sequence[float], clusters: Sequence[Hashable] | None, level: float
) -> Interval:
    """The interval of an agreement from how far each output pulls it; none below 10 cases."""
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
