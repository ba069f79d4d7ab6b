"""Differences with missing values, whose verdict has to hold whatever the missing values are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .argument_checks import check_arguments
from .differences import Case, Clusters, Difference, clustered_difference


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedValues:
    """The values of one target, and what is missing."""

    values: Mapping[Case, float]
    """The mean over the known repeats of each case; higher is better."""
    ranges: Mapping[Case, tuple[float, float]] = field(default_factory=dict)
    """The lowest and the highest possible mean of each case with missing values; empty for unbounded values."""
    missing: int = 0
    """The number of missing values, counting each repeat."""

    def filled(self, end: int) -> dict[Case, float]:
        """Return the values, with incomplete cases at their lowest (0) or highest (1) possible mean."""
        return {**self.values, **{case: ends[end] for case, ends in self.ranges.items()}}


@check_arguments
def with_missing(
    found: Difference, first: JudgedValues, second: JudgedValues, clusters: Clusters | None = None
) -> Difference:
    """Add the difference with all missing values at their worst, and at their best.

    A failing trial that ends in an error raises the mean of the others. So `Difference.outcome` is `better` only
    if it stays better with missing values of the first target at their lowest and those of the second at their
    highest.
    """
    if not first.missing + second.missing:
        return found
    worst = best = None
    if found.bounded:
        worst, best = (
            replace(
                clustered_difference(
                    (found.first, found.second),
                    (first.filled(end), second.filled(1 - end)),
                    clusters,
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
    """Return the differences with p-values adjusted by `holm` or `benjamini_hochberg`, also for their worst and best."""
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
