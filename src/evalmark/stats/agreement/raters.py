"""Other measures of agreement: Gwet's AC1 and Fleiss' kappa."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Interval

from .kappa_alpha import agreement_interval


@check_arguments
def gwet_ac1(units: Sequence[Sequence[float]], categories: int | None = None) -> float | None:
    """Return Gwet's AC1, an agreement beyond chance for a very common category: 1 is always, 0 is chance level.

    It assumes chance only where an output is hard to judge, so that 80 % agreement with 90 % of one category is
    not below 0, as it is for kappa. `units` hold the scores of each output; those with one score count for the
    frequency of categories. `categories` is the number of categories, by default those that occur. None if no
    unit has two scores, or with a single category. K. L. Gwet,
    Computing inter-rater reliability and its variance in the presence of high agreement, British Journal of
    Mathematical and Statistical Psychology 61 (2008).

    Args:
        units: For each output the scores of all judges that scored it.
        categories: The number of categories; None: those that occur.

    Returns:
        The agreement, at most 1; None if undefined.

    Raises:
        ValueError: more categories occur than `categories`.

    >>> round(gwet_ac1([[1, 1]] * 80 + [[1, 0]] * 10 + [[0, 1]] * 10), 4)
    0.7561
    """
    return _ac1(units, categories)[0]


@check_arguments
def ac1_with_interval(
    units: Sequence[Sequence[float]],
    categories: int | None = None,
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = LEVEL,
) -> tuple[float | None, Interval]:
    """Return `gwet_ac1` and its interval from the influence of each unit; `clusters` names the case of each unit with a score."""
    found, pulls = _ac1(units, categories)
    return found, agreement_interval(found, pulls, clusters, level)


@check_arguments
def fleiss_kappa(units: Sequence[Sequence[float]]) -> float | None:
    """Return Fleiss' kappa for the same number of judges on each unit; None if all scores are equal.

    J. L. Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin 76 (1971). Raises
    ValueError if the number of scores differs, which `krippendorff_alpha` supports.

    >>> round(fleiss_kappa([[1, 1, 0], [0, 0, 0], [1, 1, 1]]), 4)
    0.55
    """
    sizes = sorted({len(unit) for unit in units})
    if len(sizes) > 1:
        raise ValueError(f"Fleiss' kappa needs as many judgements of each unit, got {sizes}; take krippendorff_alpha")
    counts = Counter(x for unit in units for x in unit)
    if len(counts) < 2 or sizes[0] < 2:
        return None
    total = counts.total()
    agreed = math.fsum(map(_agreed, units)) / len(units)
    by_luck = math.fsum((times / total) ** 2 for times in counts.values())
    return (agreed - by_luck) / (1 - by_luck)


def _ac1(units: Sequence[Sequence[float]], categories: int | None) -> tuple[float | None, list[float]]:
    """Return AC1 and the influence of each unit on it; the influences add up to 0."""
    told = [unit for unit in units if unit]
    twice = [unit for unit in told if len(unit) > 1]
    words = sorted({x for unit in told for x in unit})
    size = len(words) if categories is None else categories
    if size < len(words):
        raise ValueError(f"{len(words)} different words were said, which is more than {size} categories")
    if size < 2 or not twice:
        return None, []
    common = {word: math.fsum(unit.count(word) / len(unit) for unit in told) / len(told) for word in words}
    agreed = math.fsum(map(_agreed, twice)) / len(twice)
    luck = math.fsum(p * (1 - p) for p in common.values()) / (size - 1)
    value = (agreed - luck) / (1 - luck)
    pulls = []
    for unit in told:
        more = (_agreed(unit) - agreed) * len(told) / len(twice) if len(unit) > 1 else 0.0
        luckier = math.fsum((1 - 2 * common[w]) * (unit.count(w) / len(unit) - common[w]) for w in words) / (size - 1)
        pulls.append((more - (1 - value) * luckier) / (1 - luck))
    return value, pulls


def _agreed(unit: Sequence[float]) -> float:
    """Return the share of equal pairs of scores."""
    return sum(times * (times - 1) for times in Counter(unit).values()) / (len(unit) * (len(unit) - 1))
