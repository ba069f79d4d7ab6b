"""What became of a run since an earlier one."""

from dataclasses import dataclass
from typing import Literal

from evalmark.core.values.score import Direction
from evalmark.stats.inference.differences import MARGIN, Difference

from .scoring_rules import SAME, ScoringRules

Outcome = Literal["better", "worse", "same", "cannot tell"]
Key = tuple[str, str]
"""Dataset and case."""
_TRUTHS = "paired score"
"""How intervals of values that are all 0 or 1 are found."""
ROUNDING = 0.0005
"""Differences below this, as a share of 1, are none in any report."""
DRAWN = 240
"""Differences of single cases that a change keeps to be drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A case that came out otherwise: of which another share of the repeats passes, or of which a metric gives another value."""

    dataset: str
    case: str
    target: str
    before: float
    """The share of its judged repeats that passed in the baseline, 0 to 1; with a `metric`, the mean of what it said."""
    now: float
    was: Key = ("", "")
    """Dataset and id of the same case in the baseline."""
    asked: object = None
    """The input, where the id was made of it and tells a reader nothing."""
    metric: str = ""
    """Of which these are the numbers; empty: of whether the case passes."""
    direction: Direction = "higher"
    unit: str = ""
    """As that of a `MetricChange`."""
    is_share: bool = True
    """Whether both are shares, to be said in percent."""

    @property
    def gain(self) -> float:
        """By how much the case did better, below 0 where it did worse."""
        return self.now - self.before if self.direction == "higher" else self.before - self.now

    @property
    def is_worse(self) -> bool:
        """Whether the case did worse."""
        return self.gain < 0


def is_unchanged(before: float, now: float, *, in_units: bool) -> bool:
    """Whether two values of a case are the same within rounding: to three decimals, or three digits of a unit of its own."""
    return abs(now - before) < ROUNDING * (max(abs(before), abs(now)) if in_units else 1.0) or now == before


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """The trials of one run that a metric could not judge, each repeat counted."""

    errors: int = 0
    """The scorer failed, or there was no output."""
    unscored: int = 0
    of: int = 0
    """All trials that it should have judged."""

    @property
    def total(self) -> int:
        return self.errors + self.unscored


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """How one metric changed on the cases that it could judge in both runs."""

    name: str
    """Empty: whether the case passes as a whole."""
    difference: Difference
    """The run minus the baseline, above 0 where the run does better; the level is that of the whole family."""
    before: float | None
    """The mean over those cases in the baseline, in the unit of `unit`; None without a common case."""
    now: float | None
    direction: Direction = "higher"
    """Which way of the metric is better."""
    unit: str = ""
    """Of the numbers, where they are not from 0 to 1; then lower may be better, and `difference` has been turned round."""
    unjudged: tuple[Unjudged, Unjudged] = (Unjudged(), Unjudged())
    """What is missing of the common cases in the baseline and in the run."""
    ordered: tuple[float, ...] = ()
    """The differences of single cases from the worst to the best, to be drawn: of many cases `DRAWN`, evenly chosen, the ends
    among them."""
    moved: tuple[int, int] = (0, 0)
    """How many cases did worse, and how many better; what is the same within rounding did neither."""

    @property
    def is_in_doubt(self) -> bool:
        """Whether what is missing could turn the verdict on what was judged."""
        return self.difference.outcome != self.difference.judged_outcome

    @property
    def may_be_worse(self) -> bool:
        """Whether it is worse with everything that is missing at its worst."""
        return self.difference.worst is not None and self.difference.worst.judged_outcome == "worse"

    @property
    def outcome(self) -> Outcome:
        """The verdict on it, which holds whatever the missing values are."""
        return self.difference.outcome

    @property
    def is_share(self) -> bool:
        """Whether means are shares of cases, to be said in percent."""
        return not self.name or self.difference.interval.method == _TRUTHS

    @property
    def stayed(self) -> int:
        """How many cases are as before, within rounding."""
        return self.difference.n - sum(self.moved)

    @property
    def size(self) -> float:
        """The mean difference in margins, so that metrics in different units can be ordered."""
        return (self.difference.value or 0.0) / (self.difference.margin or 1.0)

    @property
    def is_lost(self) -> bool:
        """Whether cases should have been judged, and not one of them was in both runs."""
        return not self.difference.n and any(side.total for side in self.unjudged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The cases that carry one tag."""

    tag: str
    difference: Difference
    """Of the share of repeats that pass; `adjusted` is over all slices (Benjamini and Hochberg)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """How the cases of two runs were brought together."""

    common: int
    renamed: int = 0
    """Of these, cases with other ids and the same content."""
    edited: tuple[str, ...] = ()
    """Ids that both runs have, with another content; not compared."""
    new: tuple[str, ...] = ()
    """Ids that only the run has."""
    gone: tuple[str, ...] = ()
    """Ids that only the baseline has."""

    @property
    def is_whole(self) -> bool:
        """Whether every case of either run was compared."""
        return not (self.edited or self.new or self.gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetChange:
    """How one target compares with what it was, or with the one it is compared to."""

    target: str
    against: str
    """The target of the baseline; the same name unless both runs have only one."""
    matching: Matching
    overall: MetricChange
    metrics: tuple[MetricChange, ...]
    """In the order of the run; without the one that says the same as `overall`."""
    flips: tuple[Flip, ...]
    """Those that became worse first, the largest change first."""
    moved: tuple[Flip, ...] = ()
    """The cases that came out otherwise by what decided, see `deciding`: the largest drop first, the largest gain last."""
    slices: tuple[Slice, ...] = ()
    is_identical: bool = False
    """Whether every output of the common cases, and every score, is word for word what it was: then nothing has changed, however
    few cases there are."""

    def outcome_of(self, change: MetricChange) -> Outcome:
        """What is said of one of the changes."""
        # What nobody could judge may be the same, but nothing was found out about it; neither was of cases that are gone,
        # as from a run that is under way.
        is_all = not (change.is_lost or self.matching.gone or self.matching.edited)
        return "same" if self.is_identical and is_all else change.outcome

    @property
    def deciding(self) -> MetricChange:
        """By which single cases are ranked: what made the target worse, else what made it better, else what moved most.

        That is whether cases pass where that is among it and any case flipped, else the metric with the largest difference.
        """
        told = {word: [c for c in self.changes if self.outcome_of(c) == word] for word in ("worse", "better")}
        found = told["worse"] or told["better"] or self.changes
        if not found[0].name and any(found[0].moved):
            return found[0]
        return max(found, key=lambda change: abs(change.size))

    @property
    def worse(self) -> tuple[Flip, ...]:
        """The cases that did worse by what decided."""
        return tuple(flip for flip in self.moved if flip.is_worse)

    @property
    def better(self) -> tuple[Flip, ...]:
        """The cases that did better by what decided."""
        return tuple(flip for flip in self.moved if not flip.is_worse)

    @property
    def changes(self) -> tuple[MetricChange, ...]:
        """Everything the verdict rests on; whether cases pass as a whole only where some can."""
        is_told = self.overall.difference.n or self.overall.is_lost or not self.metrics
        return (self.overall, *self.metrics) if is_told else self.metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A run beside an earlier one: whether it is better, worse, the same, or cannot be told."""

    run: str
    """The id of the run."""
    baseline: str
    """The id of the earlier one."""
    names: tuple[str, str] = ("", "")
    """What the run and the baseline are called."""
    created: tuple[str, str] = ("", "")
    """When each was made, ISO 8601."""
    targets: tuple[TargetChange, ...]
    warnings: tuple[str, ...] = ()
    """What else is different about the two runs, to be read before the verdict; one sentence each."""
    level: float
    margin: float = MARGIN
    rules: ScoringRules = SAME
    """What became of stored scores so that both runs are under one rule."""
    rescore: str = ""
    """The command that judges the older run anew, where something of a metric is not compared; empty where there is none."""

    @property
    def outcome(self) -> Outcome:
        """`worse` where any metric is worse; else `better` where any is, `cannot tell` where any cannot be told, or `same`.

        One metric that gets worse is not made good by another that gets better. Where nothing got worse and something is
        proven better, metrics that cannot be told are no reason to doubt it; one that no longer judges any case is, and one
        that is worse with all that is missing at its worst.
        """
        found = {target.outcome_of(change) for target in self.targets for change in target.changes}
        if any(change.is_lost or change.may_be_worse for target in self.targets for change in target.changes):
            found.discard("better")
        order: tuple[Outcome, ...] = ("worse", "better", "cannot tell", "same")
        return next((word for word in order if word in found), "cannot tell")

    @property
    def is_of_one_run(self) -> bool:
        """Whether two targets of one run are compared: nothing was before, and nothing is now."""
        return self.run == self.baseline and any(change.target != change.against for change in self.targets)

    @property
    def exit_code(self) -> int:
        """Better or the same 0, worse 1, cannot tell 3."""
        return {"better": 0, "same": 0, "worse": 1, "cannot tell": 3}[self.outcome]
