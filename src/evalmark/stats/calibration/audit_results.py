"""The results of auditing a judge."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalmark.core.values.label import LabelSample
from evalmark.core.values.run import Metric
from evalmark.stats.agreement.corrected_rates import CorrectedRate
from evalmark.stats.inference.intervals import Interval, Share

from .evidence import LabelEvidence

UNLIKELY = 0.02
"""Labels whose choice is less probable than this were not drawn at random."""
Verdicts = Mapping[str, bool]
"""Whether each output is good, by trial id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundTruth:
    """The verdicts that a judge is compared with: of people, or of a machine check."""

    verdicts: Verdicts
    source: str
    """The source as part of a sentence: `people`, `the rules`, `equals`."""
    votes: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """The vote of each person on an output, by trial id."""
    about: str = ""
    """Details of the source, for example the file of rules, and how many of them can be checked."""
    is_whole: bool = False
    """Whether there is a verdict on every output, as from a machine check; then no rate has to be corrected."""
    evidence: LabelEvidence | None = None
    """The labels, if people are the source."""
    use_all: bool = False
    """Whether labels count on outputs that evalmark did not draw, although those that it drew suffice."""

    @property
    def samples(self) -> tuple[LabelSample, ...]:
        """Outputs of the run that evalmark drew to be labelled."""
        return () if self.evidence is None or self.use_all else self.evidence.samples


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLabels:
    """Labels on outputs that evalmark drew at random; if they suffice, only they are used."""

    used: int
    """Labels on drawn outputs."""
    set_aside: int
    """Labels on other outputs, which are not used."""
    skipped: int
    """Drawn outputs without a label, before the last labelled one in the order of the sample."""
    by_verdict: bool
    """Whether some were drawn by verdict, so that they are random within each verdict only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelChoice:
    """How the labelled outputs of a target compare with the others, by the judge's verdict."""

    passed: int
    """Outputs that the judge passed."""
    failed: int
    labelled_passed: int
    """Labelled outputs that the judge passed."""
    labelled_failed: int
    chance: float | None
    """How probable such an uneven choice is if labels are drawn at random among all outputs; None if it is not tested."""
    by_verdict: bool = False
    """Whether evalmark drew the outputs by verdict, so that they are known not to be random among all outputs."""

    @property
    def is_random(self) -> bool:
        """Whether the labels may have been drawn at random among all outputs."""
        return not self.by_verdict and (self.chance is None or self.chance >= UNLIKELY)

    @property
    def gap(self) -> str:
        """The verdict whose outputs have no label, in a sentence; empty if there is none."""
        if self.passed and not self.labelled_passed:
            return "no output that the judge passed is labelled"
        return "no output that the judge failed is labelled" if self.failed and not self.labelled_failed else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How often a judge passed good and bad outputs."""

    good_passed: int
    good_failed: int
    bad_passed: int
    bad_failed: int

    @property
    def n(self) -> int:
        """The number of compared outputs."""
        return self.good_passed + self.good_failed + self.bad_passed + self.bad_failed

    @property
    def agreed(self) -> int:
        """Outputs with the same verdict."""
        return self.good_passed + self.bad_failed

    @property
    def good(self) -> int:
        """Good outputs."""
        return self.good_passed + self.good_failed


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictAgreement:
    """How far verdicts agree with the truth."""

    confusion: Confusion
    agreement: Share
    kappa: float | None
    """Cohen's kappa; None if it is undefined."""
    kappa_interval: Interval
    alpha: float | None
    """Krippendorff's alpha; None if it is undefined."""
    alpha_interval: Interval
    ac1: float | None
    """Gwet's AC1; None unless one verdict is so common that kappa would mislead."""
    ac1_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedPassRate:
    """The pass rate of a target by the judge, and corrected for the judge's errors."""

    target: str
    raw: Share
    """Of all outputs with a verdict of the judge."""
    powered: CorrectedRate
    """By prediction-powered inference (PPI++), if labels may have been drawn at random among all outputs."""
    adjusted: CorrectedRate
    """By Rogan and Gladen, from the judge's error rates on good and bad outputs, under the same condition."""
    stratified: CorrectedRate | None = None
    """From labels that are random within each verdict; without a value, its interval is a bound. None if every output has a truth."""
    choice: LabelChoice | None = None
    """Which outputs are labelled; None if every output has a truth."""
    sure: CorrectedRate | None = None
    """By betting, if there are so few labels that the interval of `powered` may be too short; otherwise None."""
    missing: int = 0
    """How many more cases at least have to be labelled before a rate can be corrected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanAgreement:
    """How far people agree with each other; no judge can be expected to agree more."""

    outputs: int
    """Outputs labelled by several people."""
    same: float
    """The mean share of pairs of people with the same vote."""
    interval: Interval
    alpha: float | None
    alpha_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBiases:
    """Influences on a judge that should not exist."""

    length: float | None
    """By how much the score rises when an output is twice as long; None if unknown."""
    length_interval: Interval
    first: Share | None = None
    """Of comparisons decided by the order, those that the first position won; None without any."""
    order_decided: Share | None = None
    """Comparisons whose winner changed with the order, of those asked in both orders."""
    flipped: Share | None = None
    """Outputs with different verdicts, of those that were judged several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAudit:
    """How reliable a judge is."""

    metric: Metric
    source: str
    """What the judge was compared with."""
    about: str
    """Details of the source; may be empty."""
    confusion: Confusion
    agreement: Share
    kappa: float | None
    kappa_interval: Interval
    alpha: float | None
    alpha_interval: Interval
    ac1: float | None
    """Gwet's AC1; None unless one verdict is so common that kappa would mislead."""
    ac1_interval: Interval
    prevalence: float | None
    """The share of good outputs among the compared ones."""
    rates: tuple[CorrectedPassRate, ...]
    biases: JudgeBiases
    evidence: LabelEvidence | None = None
    """The labels, if people are the source."""
    ceiling: HumanAgreement | None = None
    unjudged: int = 0
    """Outputs with a known truth and without a verdict of the judge."""
    unknown: int = 0
    """Outputs with a verdict of the judge and without a known truth."""
    drawn: DrawnLabels | None = None
    """None if labels of other outputs than those that evalmark drew are used, too."""
    weighted: CorrectedRate | None = None
    """The agreement on all outputs, stratified by verdict; None if labels may have been drawn at random among all outputs."""

    unit: str = "case"
    """What outputs are clustered by, such as `document`; `case` where cases are independent."""
    relatives: tuple[str, ...] = ()
    """Models under test of the judge's family, whose answers it may prefer."""

    @property
    def is_told(self) -> bool:
        """Whether the pass rate was corrected, or need not be."""
        found = [rate.stratified or rate.powered for rate in self.rates]
        return bool(self.confusion.n) and all(rate.value is not None for rate in found)

    @property
    def is_random(self) -> bool:
        """Whether the labels may have been drawn at random among all outputs, on every target."""
        return all(rate.choice is None or rate.choice.is_random for rate in self.rates)
