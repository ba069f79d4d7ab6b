"""Ranks the cases of a comparison, for lists of changed cases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from evalmark.core.values.score import Mode
from evalmark.stats.inference.argument_checks import check_arguments

from .change import Flip, Key, MetricChange, TargetChange, is_unchanged

CaseOutcome = Literal["worse", "better", "same"]
CASE_OUTCOMES: tuple[CaseOutcome, ...] = get_args(CaseOutcome)


@dataclass(frozen=True, kw_only=True)
class ComparedCases:
    """The common cases of one target, in the order of the run."""

    change: TargetChange
    pairs: tuple[tuple[Key, Key], ...]
    """Each case of the run, with the same one of the baseline."""
    values: tuple[tuple[tuple[float, float] | None, ...], ...]
    """For each of `change.changes` and each case, the values before and now, in the unit of the change; None if one
    is unknown.
    """
    sources: tuple[Mapping[str, tuple[str, Mode]], Mapping[str, tuple[str, Mode]]]
    """Maps the first part of a key to its dataset and mode, in the run and in the baseline."""

    def gain(self, metric: int, case: int) -> float | None:
        """Return how much better a case became by a metric, negative if worse; None if unknown."""
        found = self.values[metric][case]
        if found is None:
            return None
        before, now = found
        return now - before if self.change.changes[metric].direction == "higher" else before - now

    def outcome(self, metric: int, case: int) -> CaseOutcome | None:
        """Return how a case changed by a metric beyond rounding; None if unknown."""
        found, gain = self.values[metric][case], self.gain(metric, case)
        if found is None or gain is None:
            return None
        if is_unchanged(*found, in_units=bool(self.change.changes[metric].unit)):
            return "same"
        return "worse" if gain < 0 else "better"

    @cached_property
    def flips(self) -> Mapping[Key, Flip]:
        """The cases that changed by the deciding metric, otherwise by pass or fail, by their keys in the run."""
        return {(flip.dataset, flip.case): flip for flip in (*self.change.flips, *self.change.moved)}

    @cached_property
    def deciding(self) -> int:
        """The number of the change that ranks cases if no metric is named."""
        return self.change.changes.index(self.change.deciding)

    @cached_property
    def _reach(self) -> tuple[float, ...]:
        """The largest difference of each metric, which makes different units comparable."""
        return tuple(_reach(change) for change in self.change.changes)

    def share(self, metric: int, case: int) -> float | None:
        """Return the gain of a case as a share of 1, or of the largest difference in other units."""
        gain = self.gain(metric, case)
        return None if gain is None else gain / self._reach[metric]

    def shares(self, case: int) -> Iterator[float]:
        """Yield the known gains of a case by each metric, as shares like in `share`."""
        shares = (self.share(metric, case) for metric in range(len(self.values)))
        return (share for share in shares if share is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCase:
    """A case in a ranking."""

    cases: ComparedCases
    metric: int
    """The number of the change that it is ranked by."""
    case: int

    @property
    def outcome(self) -> CaseOutcome | None:
        return self.cases.outcome(self.metric, self.case)


@check_arguments
def rank_cases(every: Sequence[ComparedCases], metric: str | None = None) -> list[RankedCase]:
    """Rank the cases of all targets by a metric: the worse ones first, then the better ones, by the size of the change.

    Changes of the same size are ranked by those of all metrics together. Unchanged cases follow, by the largest difference in any other metric, then unscored ones. Without a name, the
    deciding metric of each target ranks; an empty name means pass or fail. Targets without the metric are left
    out.
    """
    found = [place for cases in every for place in _ranked_cases(cases, metric)]
    return sorted(found, key=_rank)


def _ranked_cases(cases: ComparedCases, metric: str | None) -> Iterator[RankedCase]:
    names = [change.name for change in cases.change.changes]
    if metric is not None and metric not in names:
        return
    number = cases.deciding if metric is None else names.index(metric)
    for case in range(len(cases.pairs)):
        yield RankedCase(cases=cases, metric=number, case=case)


def _rank(place: RankedCase) -> tuple[int, float, float]:
    share = place.cases.share(place.metric, place.case)
    shares = [*place.cases.shares(place.case)]
    if share is not None and place.outcome != "same":
        return (0, share, sum(shares)) if share < 0 else (1, -share, -sum(shares))
    return 2 if share is not None else 3, -max(map(abs, shares), default=0.0), 0.0


def _reach(change: MetricChange) -> float:
    if not change.unit or not change.ordered:
        return 1.0
    return max(abs(change.ordered[0]), abs(change.ordered[-1])) or 1.0
