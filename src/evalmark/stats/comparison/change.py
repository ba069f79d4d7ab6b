"""The result of comparing two runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evalmark.core.values.notebook import NotebookValue
from evalmark.core.values.run import Gate
from evalmark.core.values.score import Direction
from evalmark.stats.inference.differences import MARGIN, Difference

from .scoring_rules import SAME, ScoringRules

Outcome = Literal["better", "worse", "same", "cannot tell"]
Key = tuple[str, str]
"""The dataset and the id of a case."""
ROUNDING = 0.0005
"""Smaller differences, as a share of 1, are reported as none."""
DRAWN = 240
"""The largest number of single differences that are kept for a chart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A case whose pass rate over its repeats, or whose metric value, changed."""

    dataset: str
    case: str
    target: str
    before: float
    """The share of its scored repeats that passed in the baseline, 0 to 1; with a `metric`, its mean value."""
    now: float
    was: Key = ("", "")
    """The dataset and id of the case in the baseline."""
    asked: object = None
    """The input, for a case with a generated id."""
    metric: str = ""
    """The metric of these numbers; empty: pass or fail."""
    direction: Direction = "higher"
    unit: str = ""
    """The unit, as in `MetricChange`."""
    is_share: bool = True
    """Whether both numbers are shares, to be shown in percent."""

    @property
    def gain(self) -> float:
        """How much better the case became; negative if it became worse."""
        return self.now - self.before if self.direction == "higher" else self.before - self.now

    @property
    def is_worse(self) -> bool:
        """Whether the case became worse."""
        return self.gain < 0


def is_unchanged(before: float, now: float, *, in_units: bool) -> bool:
    """Return whether two values are equal within rounding: to three decimals, or to three digits in other units."""
    return abs(now - before) < ROUNDING * (max(abs(before), abs(now)) if in_units else 1.0) or now == before


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """The trials of one run that a metric could not score, counting each repeat."""

    errors: int = 0
    """The scorer failed, or there was no output."""
    unscored: int = 0
    of: int = 0
    """All trials that should have a score."""

    @property
    def total(self) -> int:
        return self.errors + self.unscored


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """How one metric changed on the cases that it scored in both runs."""

    name: str
    """Empty: whether the case passes."""
    difference: Difference
    """The run minus the baseline, positive if the run is better; intervals have the level of the comparison."""
    before: float | None
    """The mean over these cases in the baseline, in `unit`; None without a common case."""
    now: float | None
    direction: Direction = "higher"
    """Which direction of the metric is better."""
    unit: str = ""
    """The unit, if the numbers are not from 0 to 1. If lower is better, `difference` has the opposite sign."""
    is_share: bool = False
    """Whether means are shares of trials, to be shown in percent: all values are 0 or 1."""
    unjudged: tuple[Unjudged, Unjudged] = (Unjudged(), Unjudged())
    """What is missing of the common cases, in the baseline and in the run."""
    ordered: tuple[float, ...] = ()
    """The differences of single cases, from worst to best, for a chart; at most `DRAWN`, evenly chosen with both
    ends.
    """
    moved: tuple[int, int] = (0, 0)
    """How many cases became worse, and how many better, beyond rounding."""

    @property
    def is_in_doubt(self) -> bool:
        """Whether missing values could change the verdict."""
        return self.difference.outcome != self.difference.judged_outcome

    @property
    def may_be_worse(self) -> bool:
        """Whether it is worse if all missing values are at their worst."""
        return self.difference.worst is not None and self.difference.worst.judged_outcome == "worse"

    @property
    def outcome(self) -> Outcome:
        """The verdict, which holds whatever the missing values are."""
        return self.difference.outcome

    @property
    def stayed(self) -> int:
        """How many cases are unchanged within rounding."""
        return self.difference.n - sum(self.moved)

    @property
    def size(self) -> float:
        """The mean difference in margins, which makes metrics with different units comparable."""
        return (self.difference.value or 0.0) / (self.difference.margin or 1.0)

    @property
    def is_lost(self) -> bool:
        """Whether no case was scored in both runs, although some should have been."""
        return not self.difference.n and any(side.total for side in self.unjudged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The cases with one tag."""

    tag: str
    difference: Difference
    """The difference of the pass rate; `adjusted` is over all slices (Benjamini and Hochberg)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """How the cases of two runs were matched."""

    common: int
    renamed: int = 0
    """Common cases with different ids and the same content."""
    edited: tuple[str, ...] = ()
    """Ids in both runs with different content; not compared."""
    new: tuple[str, ...] = ()
    """Ids only in the run."""
    gone: tuple[str, ...] = ()
    """Ids only in the baseline."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Readable titles of those of these cases that have a generated id."""

    @property
    def is_whole(self) -> bool:
        """Whether every case of both runs was compared."""
        return not (self.edited or self.new or self.gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetChange:
    """How one target compares with its baseline."""

    target: str
    against: str
    """The target of the baseline; the same name, unless each run has a single target."""
    matching: Matching
    overall: MetricChange
    metrics: tuple[MetricChange, ...]
    """In the order of the run, without those of `as_overall`."""
    flips: tuple[Flip, ...]
    """Cases that became worse first, the largest change first."""
    moved: tuple[Flip, ...] = ()
    """Cases that changed by the deciding metric, from the largest drop to the largest gain; see `deciding`."""
    slices: tuple[Slice, ...] = ()
    as_overall: tuple[str, ...] = ()
    """The metrics that equal `overall` in every case of both runs."""
    is_identical: bool = False
    """Whether all outputs and scores of the common cases are identical: then nothing has changed, however few cases
    there are.
    """

    def outcome_of(self, change: MetricChange) -> Outcome:
        """Return the verdict on one of the changes."""
        # Identical outputs prove nothing about a metric that scored no case, or about cases that are missing or
        # edited.
        is_all = not (change.is_lost or self.matching.gone or self.matching.edited)
        return "same" if self.is_identical and is_all else change.outcome

    @property
    def deciding(self) -> MetricChange:
        """The change that ranks single cases: what made the target worse, otherwise better, otherwise what changed most.

        Pass or fail is preferred if any case flipped; otherwise the metric with the largest difference.
        """
        told = {word: [c for c in self.changes if self.outcome_of(c) == word] for word in ("worse", "better")}
        found = told["worse"] or told["better"] or self.changes
        if not found[0].name and any(found[0].moved):
            return found[0]
        return max(found, key=lambda change: abs(change.size))

    @property
    def worse(self) -> tuple[Flip, ...]:
        """The cases that became worse by the deciding metric."""
        return tuple(flip for flip in self.moved if flip.is_worse)

    @property
    def better(self) -> tuple[Flip, ...]:
        """The cases that became better by the deciding metric."""
        return tuple(flip for flip in self.moved if not flip.is_worse)

    @property
    def changes(self) -> tuple[MetricChange, ...]:
        """All changes that the verdict depends on; pass or fail only if some cases can pass."""
        is_told = self.overall.difference.n or self.overall.is_lost or not self.metrics
        return (self.overall, *self.metrics) if is_told else self.metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(NotebookValue):
    """A run compared with an earlier one."""

    run: str
    """The id of the run."""
    baseline: str
    """The id of the baseline."""
    names: tuple[str, str] = ("", "")
    """The names of the run and of the baseline."""
    created: tuple[str, str] = ("", "")
    """When each was created, ISO 8601."""
    targets: tuple[TargetChange, ...]
    warnings: tuple[str, ...] = ()
    """Other differences between the runs, one sentence each; to be read before the verdict."""
    level: float
    margin: float = MARGIN
    tests: int = 0
    """The number of tests that p is adjusted for, over all baselines that were compared together."""
    gate: Gate | None = None
    """The gate of the run."""
    rules: ScoringRules = SAME
    """The rules that both runs were scored by."""
    rescore: str = ""
    """The command that scores the older run again, if a metric is not fully compared; empty if there is none."""

    @property
    def outcome(self) -> Outcome:
        """The verdict: `worse` if any metric is worse, else `better` if any is, `cannot tell` if any is undecided, or `same`.

        A better metric does not make up for a worse one. If nothing is worse and something is better,
        undecided metrics do not matter, except one that no longer scores any case, and one that is worse with
        all missing values at their worst.
        """
        found = {target.outcome_of(change) for target in self.targets for change in target.changes}
        if any(change.is_lost or change.may_be_worse for target in self.targets for change in target.changes):
            found.discard("better")
        order: tuple[Outcome, ...] = ("worse", "better", "cannot tell", "same")
        return next((word for word in order if word in found), "cannot tell")

    def __repr__(self) -> str:
        """Return one line, without the metrics."""
        return f"Comparison(run={self.run!r}, baseline={self.baseline!r}, outcome={self.outcome!r})"

    @property
    def is_of_one_run(self) -> bool:
        """Whether two targets of one run are compared."""
        return self.run == self.baseline and any(change.target != change.against for change in self.targets)

    @property
    def exit_code(self) -> int:
        """Exit code: 0 for better or the same, 1 for worse, 3 for cannot tell."""
        return {"better": 0, "same": 0, "worse": 1, "cannot tell": 3}[self.outcome]
