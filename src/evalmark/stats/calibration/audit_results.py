"""What an audit of a judge comes to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalmark.core.values.run import Metric
from evalmark.stats.agreement.corrected_rates import CorrectedRate
from evalmark.stats.inference.intervals import Interval, Share

from .evidence import LabelEvidence

Verdicts = Mapping[str, bool]
"""Whether an output is good, by the id of its trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundTruth:
    """What outputs are held against: people's word, or that of a machine."""

    verdicts: Verdicts
    source: str
    """As a sentence names it: `people`, `the rules`, `equals`."""
    votes: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """What each person says of an output, by the id of its trial."""
    about: str = ""
    """Where it stands, and how far it goes: the file of rules that were checked, and how many of them can be."""
    is_whole: bool = False
    """Whether it could have a word on every output, as a machine has: then no rate has to be corrected."""
    evidence: LabelEvidence | None = None
    """The labels, where people have a word: what of them could not be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How often a judge passed good and bad outputs."""

    good_passed: int
    good_failed: int
    bad_passed: int
    bad_failed: int

    @property
    def n(self) -> int:
        """Outputs that were compared."""
        return self.good_passed + self.good_failed + self.bad_passed + self.bad_failed

    @property
    def agreed(self) -> int:
        """Outputs of which both say the same."""
        return self.good_passed + self.bad_failed

    @property
    def good(self) -> int:
        """Outputs that are good."""
        return self.good_passed + self.good_failed


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictAgreement:
    """How far verdicts agree with what is known of the same outputs."""

    confusion: Confusion
    agreement: Share
    kappa: float | None
    """Cohen's; None where it says nothing."""
    kappa_interval: Interval
    alpha: float | None
    """Krippendorff's; None where it says nothing."""
    alpha_interval: Interval
    ac1: float | None
    """Gwet's AC1; None where neither word is so common that kappa would mislead."""
    ac1_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedPassRate:
    """The pass rate of one target by the judge, and what it is when the judge's errors are taken out."""

    target: str
    raw: Share
    """Of all outputs that the judge has judged."""
    powered: CorrectedRate
    """By prediction-powered inference (PPI++)."""
    adjusted: CorrectedRate
    """By Rogan and Gladen, from how often the judge errs on good and on bad outputs."""
    sure: CorrectedRate | None = None
    """By betting, where labels are so few that the interval of `powered` may be too short; else None."""
    missing: int = 0
    """So many more cases have to be labelled, at least, before a rate can be corrected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanAgreement:
    """How far people agree with each other, which no judge can be expected to surpass."""

    outputs: int
    """Outputs that several people have labelled."""
    same: float
    """The mean share of pairs of people who say the same."""
    interval: Interval
    alpha: float | None
    alpha_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBiases:
    """What moves a judge that should not."""

    length: float | None
    """By how much the score rises when an answer is twice as long; None where it cannot be said."""
    length_interval: Interval
    first: Share | None = None
    """Of comparisons in which the order decided, those that the first place won; None where nothing was compared."""
    order_decided: Share | None = None
    """Comparisons whose winner changed with the order, of all asked in both orders."""
    flipped: Share | None = None
    """Outputs that were judged several times with different verdicts, of all judged several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAudit:
    """How far one judge can be trusted."""

    metric: Metric
    source: str
    """What it is held against."""
    about: str
    """Where that stands, and how far it goes; empty where there is nothing to say."""
    confusion: Confusion
    agreement: Share
    kappa: float | None
    kappa_interval: Interval
    alpha: float | None
    alpha_interval: Interval
    ac1: float | None
    """Gwet's AC1; None where neither word is so common that kappa would mislead."""
    ac1_interval: Interval
    prevalence: float | None
    """The share of good outputs among those compared."""
    rates: tuple[CorrectedPassRate, ...]
    biases: JudgeBiases
    evidence: LabelEvidence | None = None
    """The labels, where it is held against people."""
    ceiling: HumanAgreement | None = None
    unjudged: int = 0
    """Outputs that are known to be good or bad and that the judge passed no verdict on."""
    unknown: int = 0
    """Outputs that the judge has judged and of which nothing else is known."""

    @property
    def is_told(self) -> bool:
        """Whether the pass rate could be corrected, or need not be."""
        return bool(self.confusion.n) and all(rate.powered.value is not None for rate in self.rates)
