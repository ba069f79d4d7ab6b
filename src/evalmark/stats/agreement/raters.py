"""Agreement of several judges by other measures than kappa of two and alpha: Gwet's AC1, Fleiss' kappa."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Interval

from .kappa_alpha import agreement_interval


@check_arguments
def gwet_ac1(units: Sequence[Sequence[float]], categories: int | None = None) -> float | None:
    """How far judges agree beyond luck, where one word is by far the most common: 1 always, 0 as luck has it.

    Luck is taken to be at work only where an output is hard to judge, so that 80 % agreement on 90 % of one word does
    not come out below 0, as kappa does. `units` hold what was said of each output; those with one judgement count for
    how common a word is. `categories` is how many words there are, those that were said unless given. None when
    nothing was said twice, or there is but one word. Raises ValueError for fewer categories than words. K. L. Gwet, Computing inter-rater reliability and its variance
    in the presence of high agreement, British Journal of Mathematical and Statistical Psychology 61 (2008).

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
    """`gwet_ac1` and its interval from the influence of each unit; `clusters` names the case of each with a judgement."""
    found, pulls = _ac1(units, categories)
    return found, agreement_interval(found, pulls, clusters, level)


@check_arguments
def fleiss_kappa(units: Sequence[Sequence[float]]) -> float | None:
    """How far judges agree beyond luck, the same number for each unit; None when all always say one and the same.

    J. L. Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin 76 (1971). Raises
    ValueError where the number of judgements differs, which `krippendorff_alpha` can do.

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
    """AC1, and how far each unit with a judgement pulls it up or down; the pulls add up to 0."""
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
    """The share of pairs of judgements that are the same."""
    return sum(times * (times - 1) for times in Counter(unit).values()) / (len(unit) * (len(unit) - 1))
