"""What became of a run since an earlier one."""

from dataclasses import dataclass
from typing import Literal

from evalmark.inference import MARGIN, Difference
from evalmark.values import Direction

from .rules import SAME, Rules

Outcome = Literal["better", "worse", "same", "cannot tell"]
Key = tuple[str, str]
"""Dataset and case."""
DRAWN = 240
"""Differences of single cases that a change keeps to be drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A case of which another share of the repeats passes than before."""

    dataset: str
    case: str
    target: str
    before: float
    """The share of its judged repeats that passed in the baseline, 0 to 1."""
    now: float
    was: Key = ("", "")
    """Dataset and id of the same case in the baseline."""
    asked: object = None
    """The input, where the id was made of it and tells a reader nothing."""


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
    unjudged: tuple[int, int] = (0, 0)
    """Common cases that it could not judge in the baseline and in the run: unscored, errors, no output."""
    at_worst: float | None = None
    """The mean difference, were every case that could be judged in the baseline alone now as bad as can be; None where there
    is no such case, and for numbers in a unit of their own."""
    ordered: tuple[float, ...] = ()
    """The differences of single cases from the worst to the best, to be drawn: of many cases `DRAWN`, evenly chosen, the ends
    among them."""

    @property
    def is_in_doubt(self) -> bool:
        """Whether what can no longer be judged may hide that it became worse."""
        return self.at_worst is not None and self.at_worst < -self.difference.margin

    @property
    def outcome(self) -> Outcome:
        """What is said of it: nothing good where that is in doubt."""
        found = self.difference.outcome
        return "cannot tell" if found in ("better", "same") and self.is_in_doubt else found

    @property
    def is_lost(self) -> bool:
        """Whether cases should have been judged, and not one of them was in both runs."""
        return not self.difference.n and any(self.unjudged)


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
    def worse(self) -> tuple[Flip, ...]:
        """The flips that became worse."""
        return tuple(flip for flip in self.flips if flip.now < flip.before)

    @property
    def better(self) -> tuple[Flip, ...]:
        """The flips that became better."""
        return tuple(flip for flip in self.flips if flip.now > flip.before)

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
    rules: Rules = SAME
    """What became of stored scores so that both runs are under one rule."""
    rescore: str = ""
    """The command that judges the baseline anew, where something of a metric is not compared; empty where there is none."""

    @property
    def outcome(self) -> Outcome:
        """`worse` where any metric is worse; else `better` where any is, `cannot tell` where any cannot be told, or `same`.

        One metric that gets worse is not made good by another that gets better. Where nothing got worse and something is
        proven better, metrics that cannot be told are no reason to doubt it; one that no longer judges any case is.
        """
        found = {target.outcome_of(change) for target in self.targets for change in target.changes}
        if any(change.is_lost for target in self.targets for change in target.changes):
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
