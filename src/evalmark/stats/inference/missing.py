"""Differences of which values are missing: what is said of them has to hold whatever the missing values are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .argument_checks import check_arguments
from .differences import Case, Difference, difference


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedValues:
    """How well one side did, and what is missing of it."""

    values: Mapping[Case, float]
    """The mean over the judged repeats of each case that has any; higher is better."""
    ranges: Mapping[Case, tuple[float, float]] = field(default_factory=dict)
    """For each case with missing values the lowest and the highest mean that it may have; empty where values have no known
    ends."""
    missing: int = 0
    """How many values are missing, each repeat counted."""

    def filled(self, end: int) -> dict[Case, float]:
        """The values with those of cases that lost some at one end: 0 the lowest, 1 the highest."""
        return {**self.values, **{case: ends[end] for case, ends in self.ranges.items()}}


@check_arguments
def with_missing(found: Difference, first: JudgedValues, second: JudgedValues) -> Difference:
    """The difference of the judged values, with what it is with every missing value at its worst and at its best.

    A failed answer that became an error leaves the mean of the others higher; so `Difference.outcome` says `better` only where
    that holds with the values missing on the first side at their lowest and those missing on the second at their highest.
    """
    if not first.missing + second.missing:
        return found
    worst = best = None
    if found.bounded:
        worst, best = (
            replace(
                difference(
                    (found.first, found.second),
                    first.filled(end),
                    second.filled(1 - end),
                    found.interval.level,
                    found.margin,
                ),
                metric=found.metric,
            )
            for end in (0, 1)
        )
    return replace(found, worst=worst, best=best, missing=first.missing + second.missing)


Adjustment = Callable[[Sequence[float | None]], list[float | None]]


@check_arguments
def adjust_differences(differences: Sequence[Difference], by: Adjustment) -> list[Difference]:
    """The differences with their p adjusted for each other `by` `holm` or `benjamini_hochberg`, also those at worst and best."""
    likely = by([one.p for one in differences])
    worst = by([(one.worst or one).p for one in differences])
    best = by([(one.best or one).p for one in differences])
    return [
        replace(
            one,
            adjusted=p,
            worst=one.worst and replace(one.worst, adjusted=p_worst),
            best=one.best and replace(one.best, adjusted=p_best),
        )
        for one, p, p_worst, p_best in zip(differences, likely, worst, best, strict=True)
    ]
