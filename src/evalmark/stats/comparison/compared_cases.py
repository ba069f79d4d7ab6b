"""What metrics said of single cases in two runs, and which case is to be seen first."""

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
    """The cases of one target that both runs have, in the order of the run."""

    change: TargetChange
    pairs: tuple[tuple[Key, Key], ...]
    """Each case of the run, and the same one of the baseline."""
    values: tuple[tuple[tuple[float, float] | None, ...], ...]
    """For each of `change.changes` and each case what was said before and now, in the unit of the change; None where one of
    them is not known."""
    sources: tuple[Mapping[str, tuple[str, Mode]], Mapping[str, tuple[str, Mode]]]
    """The dataset and the mode that the first part of a key stands for, in the run and in the baseline."""

    def gain(self, metric: int, case: int) -> float | None:
        """By how much a case did better by a metric, below 0 where it did worse; None where that is not known."""
        found = self.values[metric][case]
        if found is None:
            return None
        before, now = found
        return now - before if self.change.changes[metric].direction == "higher" else before - now

    def went(self, metric: int, case: int) -> CaseOutcome | None:
        """What became of a case by a metric, where differences within rounding are none; None where that is not known."""
        found, gain = self.values[metric][case], self.gain(metric, case)
        if found is None or gain is None:
            return None
        if is_unchanged(*found, in_units=bool(self.change.changes[metric].unit)):
            return "same"
        return "worse" if gain < 0 else "better"

    @cached_property
    def flips(self) -> Mapping[Key, Flip]:
        """The cases that came out otherwise by what decided, or else by whether they pass, by their keys in the run."""
        return {(flip.dataset, flip.case): flip for flip in (*self.change.flips, *self.change.moved)}

    @cached_property
    def deciding(self) -> int:
        """The number of the change by which cases are ranked where no metric is named."""
        return self.change.changes.index(self.change.deciding)

    @cached_property
    def _reach(self) -> tuple[float, ...]:
        """The largest difference of each metric: units of their own are not comparable otherwise."""
        return tuple(_reach(change) for change in self.change.changes)

    def share(self, metric: int, case: int) -> float | None:
        """The gain of a case as a share of 1, or of the largest difference for units of their own."""
        gain = self.gain(metric, case)
        return None if gain is None else gain / self._reach[metric]

    def largest(self, case: int) -> float:
        """The largest difference of a case by any metric, as a share of 1, or of the largest one for units of their own."""
        shares = (self.share(metric, case) for metric in range(len(self.values)))
        return max((abs(share) for share in shares if share is not None), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCase:
    """A case among those of its target."""

    cases: ComparedCases
    metric: int
    """By which it is sorted, among the changes of its target."""
    case: int

    @property
    def went(self) -> CaseOutcome | None:
        return self.cases.went(self.metric, self.case)


@check_arguments
def rank_cases(every: Sequence[ComparedCases], metric: str | None = None) -> list[RankedCase]:
    """The cases of all targets: what became worse by a metric, then what became better, the largest difference first.

    Behind them stand those of which the metric says the same, by the largest difference of any other metric, and those it
    could not judge. Without a name it is what decided about each target; an empty one is whether cases pass. Targets without
    the metric have no case here.
    """
    found = [place for cases in every for place in _places(cases, metric)]
    return sorted(found, key=_telling)


def _places(cases: ComparedCases, metric: str | None) -> Iterator[RankedCase]:
    names = [change.name for change in cases.change.changes]
    if metric is not None and metric not in names:
        return
    number = cases.deciding if metric is None else names.index(metric)
    for case in range(len(cases.pairs)):
        yield RankedCase(cases=cases, metric=number, case=case)


def _telling(place: RankedCase) -> tuple[int, float]:
    share = place.cases.share(place.metric, place.case)
    if share is not None and place.went != "same":
        return (0, share) if share < 0 else (1, -share)
    return 2 if share is not None else 3, -place.cases.largest(place.case)


def _reach(change: MetricChange) -> float:
    if not change.unit or not change.ordered:
        return 1.0
    return max(abs(change.ordered[0]), abs(change.ordered[-1])) or 1.0
