"""How well a score separates good outputs from bad ones: ROC curve, area under it, and Youden's threshold."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from statistics import NormalDist
from typing import Literal

from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Interval, no_interval

Direction = Literal["higher", "lower"]
"""Which scores are better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RocPoint:
    """What passes at one threshold."""

    threshold: float
    """A score that reaches it passes; the first point has an infinite threshold."""
    good_passed: int
    good: int
    bad_passed: int
    bad: int

    @property
    def index(self) -> float | None:
        """Youden's index: the share of good outputs that pass minus that of bad ones; None without one of the two."""
        return self.good_passed / self.good - self.bad_passed / self.bad if self.good and self.bad else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Youden:
    """The threshold that separates good and bad outputs best."""

    threshold: float
    """The strictest of equally good ones."""
    index: float
    """Youden's index, 0 to 1; it is lower on new outputs, because this threshold was selected."""
    equals: tuple[float, ...]
    """All thresholds with this index, the strictest first."""


@check_arguments
def roc_points(scores: Sequence[float], labels: Sequence[bool], direction: Direction = "higher") -> list[RocPoint]:
    """Return what each threshold lets pass, from the strictest on: first nothing, then every score that occurs.

    `labels` say whether each output is good. Raises ValueError for scores that are not finite, labels that are
    not booleans, and lists of different lengths.

    >>> [(p.threshold, p.index) for p in roc_points([0.1, 0.4, 0.35, 0.8], [False, False, True, True])]
    [(inf, 0.0), (0.8, 0.5), (0.4, 0.0), (0.35, 0.5), (0.1, 0.0)]
    """
    check_labelled(scores, labels)
    sign = -1 if direction == "lower" else 1
    good = sum(map(bool, labels))
    bad, passed, failed = len(labels) - good, 0, 0
    points = [RocPoint(threshold=sign * math.inf, good_passed=0, good=good, bad_passed=0, bad=bad)]
    rows = sorted(zip(scores, labels, strict=True), key=lambda row: -sign * row[0])
    for score, group in groupby(rows, key=itemgetter(0)):
        said = [bool(label) for _, label in group]
        passed, failed = passed + sum(said), failed + len(said) - sum(said)
        points.append(RocPoint(threshold=score, good_passed=passed, good=good, bad_passed=failed, bad=bad))
    return points


@check_arguments
def youden(points: Sequence[RocPoint]) -> Youden | None:
    """Return the threshold with the largest difference between good and bad outputs that pass, and all equally good ones.

    The strictest of them is taken, so that a tie never lets more bad outputs pass. None if one of the labels is
    missing, and if no threshold is better than letting nothing pass. W. J. Youden (1950).

    >>> youden(roc_points([0.1, 0.4, 0.35, 0.8], [False, False, True, True])).equals
    (0.8, 0.35)
    """
    # in integers, so that ties are exact
    worth = [p.good_passed * p.bad - p.bad_passed * p.good for p in points]
    best = max(worth, default=0)
    if best <= 0:
        return None
    equals = [point for point, value in zip(points, worth, strict=True) if value == best]
    return Youden(
        threshold=equals[0].threshold,
        index=best / (equals[0].good * equals[0].bad),
        equals=tuple(point.threshold for point in equals),
    )


@check_arguments
def auc(points: Sequence[RocPoint]) -> float | None:
    """Return how often a good output scores better than a bad one, counting ties half: the area under `roc_points`.

    1 is always, 0.5 is chance level; None if one of the labels is missing.

    >>> auc(roc_points([0.1, 0.4, 0.35, 0.8], [False, False, True, True]))
    0.75
    """
    if not points or not points[-1].good or not points[-1].bad:
        return None
    twice = sum(
        (after.bad_passed - before.bad_passed) * (after.good_passed + before.good_passed)
        for before, after in pairwise(points)
    )
    return twice / (2 * points[-1].good * points[-1].bad)


@check_arguments
def auc_interval(area: float | None, good: int, bad: int, level: float = LEVEL) -> Interval:
    """Return the score interval of an area under the ROC curve for numbers of good and bad cases; never of zero width.

    It holds the areas whose standard error, as Hanley and McNeil (1982) give it, can explain the observed one:
    method 5 of R. G. Newcombe, Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, part 2, Statistics in Medicine 25 (2006). For repeated cases pass the number of cases, which is
    conservative.

    >>> found = auc_interval(0.75, 20, 20)
    >>> round(found.low, 3), round(found.high, 3)
    (0.571, 0.866)
    """
    if area is None or not good or not bad:
        return no_interval("good and bad outputs are needed to tell how far they are apart", level)
    z, more = NormalDist().inv_cdf((1 + level) / 2), (good + bad) / 2 - 1

    def too_far(at: float) -> bool:
        spread = at * (1 - at) * (1 + more * (1 - at) / (2 - at) + more * at / (1 + at)) / (good * bad)
        return abs(area - at) > z * math.sqrt(spread)

    low = area if area == 0 else _edge(area, 0.0, too_far)
    high = area if area == 1 else _edge(area, 1.0, too_far)
    return Interval(low=low, high=high, level=level, method="Newcombe")


def _edge(inside: float, outside: float, too_far: Callable[[float], bool]) -> float:
    """Return where `too_far` begins, by bisection between two points."""
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if too_far(middle) else (middle, outside)
    return inside


def check_labelled(scores: Sequence[float], labels: Sequence[bool], clusters: Sequence[Hashable] | None = None) -> None:
    """Raise ValueError unless each output has a finite score, a boolean label and, if given, a cluster."""
    if len(scores) != len(labels):
        raise ValueError(f"{len(scores)} scores but {len(labels)} labels")
    if clusters is not None and len(clusters) != len(scores):
        raise ValueError(f"{len(scores)} scores but {len(clusters)} clusters")
    if odd := [s for s in scores if not math.isfinite(s)]:
        raise ValueError(f"a threshold needs finite scores, got {odd[0]!r}; leave out what could not be scored")
    if strange := [label for label in labels if label not in (0, 1)]:
        raise ValueError(f"a label is true or false, got {strange[0]!r}")
