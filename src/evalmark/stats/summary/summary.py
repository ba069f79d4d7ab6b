"""The figures of a run that reports print and gates check."""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from evalmark.core.values.run import RunStatus, Shard, UntilDecided
from evalmark.core.values.score import Direction, Mode, Result
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import Interval, Share
from evalmark.stats.inference.repeats import PassAtK

LeftOut = Literal["baseline", "invalid", "ungrounded"]
"""Why a trial does not count for the headline figure."""
REASONS: Mapping[LeftOut, str] = MappingProxyType(
    {"baseline": "baseline", "invalid": "not valid", "ungrounded": "of ungrounded rules"}
)
"""The reasons as they follow a number of tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCounts:
    """The number of trials with each verdict, which add up to `trials`."""

    trials: int
    cases: int
    passed: int
    failed: int
    errors: int
    unscored: int
    ungated: int
    """Trials whose scores can neither pass nor fail."""
    pass_rate: Share
    """Of the trials that passed or failed; errors, unscored and ungated trials are left out."""
    flips: int | None
    """Cases whose verdict differs between repeats on a target; None without repeats."""
    judged_twice: int | None
    """Cases that passed or failed at least twice on a target, so that their verdict could differ; None without repeats."""
    seconds_median: float | None
    seconds_p95: float | None
    waited_median: float | None = None
    """The median time in queues, which is not part of `seconds`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstScore:
    """One of the worst scores of a metric."""

    case: str
    position: int
    repeat: int
    raw: Any
    """The scorer's own result: a number, a boolean or a label; None for anything else."""
    value: float | None
    passed: bool | None
    reason: str
    """The first 1,000 characters."""
    asked: str = ""
    """The beginning of the input, for a case with a generated id; otherwise empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """How consistent a judge is; empty for metrics without a judge."""

    flipped: Share | None = None
    """Outputs with different verdicts, of those that were judged several times."""
    order_decided: Share | None = None
    """Comparisons whose winner changed with the order of the outputs, of those judged in both orders."""
    weighting: Mapping[str, int] = field(default_factory=dict)
    """How often a score was weighted by token probabilities (`logprobs`), or why not (`plain: ...`)."""
    unscored: Mapping[str, int] = field(default_factory=dict)
    """Unusable judge replies by kind: `judge_parse`, `judge_range`, `judge_refused` and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """One metric on one dataset and target."""

    name: str
    direction: Direction
    threshold: float | None
    """For a case; None if the scorer decides itself or cannot pass."""
    scored: int
    unscored: int
    errors: int
    """Trials without an output, and scores that failed."""
    skipped: int
    scale: Literal["value", "raw"] | None
    """What `mean` is computed of: values from 0 to 1, or raw numbers if some scores have no value; None without
    either.
    """
    unit: str
    """The unit of `mean`; empty for values from 0 to 1."""
    n: int
    """The number of scores in `mean`; less than `scored` if some have neither a value nor a raw number."""
    mean: float | None
    interval: Interval
    raw_mean: float | None
    """The mean in the scorer's own unit, if it differs from `mean`."""
    raw_unit: str
    raw_interval: Interval | None
    """The interval of `raw_mean`, if the unit is a bounded scale: `1..5`, `%`."""
    truths: bool
    """Whether every score is true or false; `mean` is then the share of true."""
    choices: Mapping[str, int]
    """How often each label was given; empty without labels."""
    bins: tuple[int, ...]
    """A histogram of the scores in ten equal steps from `low` to `high`; empty without scores."""
    low: float
    high: float
    pass_rate: Share
    judge: str
    """The judge model; empty without a judge."""
    base: str
    """The name of the metric without its judge, if it has several judges; otherwise empty."""
    steadiness: Steadiness
    worst: tuple[WorstScore, ...]
    """The worst scores, the worst first, without perfect ones."""
    skip_reasons: Mapping[str, int]
    """Why scores were skipped and how often, for the first few reasons."""
    caution: str = ""
    """Why `interval` may be too short; empty if nothing in the scores says so."""

    @property
    def missing(self) -> int:
        """Trials without a score that should have one."""
        return self.unscored + self.errors


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePair:
    """How two judges of one metric compare on outputs that both scored."""

    judges: tuple[str, str]
    same: Share
    """Outputs with identical scores."""
    kappa: float | None
    """Cohen's kappa: agreement beyond chance. None if both judges always give one and the same score."""
    interval: Interval
    """The interval of `kappa`."""
    difference: float | None
    """The mean of the second judge's score minus the first's, in the unit of the agreement."""
    difference_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAgreement:
    """How far the judges of one metric agree, over all datasets and targets of a run."""

    base: str
    """The name of the metric without its judges."""
    judges: tuple[str, ...]
    level: Literal["nominal", "ordinal", "interval"]
    """`nominal`: labels and booleans; `ordinal`: integers of a scale; `interval`: other numbers."""
    unit: str
    """The unit of differences; empty for values from 0 to 1."""
    n: int
    """Outputs that at least two judges scored."""
    pairs: tuple[JudgePair, ...]
    """All pairs of judges with common outputs."""
    alpha: float | None
    """Krippendorff's alpha of more than two judges; None for two judges, and if it is undefined."""
    interval: Interval | None
    """The interval of `alpha`; None for two judges."""
    most_common: str
    """The most common score; empty at level `interval`."""
    prevalence: float | None
    """The share of the most common score. If it is near 1, kappa is low even if judges often agree."""
    mean: float | None = None
    """The mean over all judges and outputs that at least two of them scored; None if an output has no value."""
    mean_interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatFigures:
    """pass@1, pass@k and pass^k of repeated cases."""

    once: PassAtK
    """pass@1, equal to pass^1: the mean over cases of the share of scored tries that pass."""
    any_of: PassAtK
    """pass@k, where k is the number of repeats; no value if no case has k scored tries."""
    all_of: PassAtK
    """pass^k of the same cases."""


VarianceSource = Literal["cluster", "case", "repeat", "judge", "judge_by_case", "verdict"]
"""A source of differences between scores: clusters, cases, the outputs of a case, the mean level of a judge, the judge's view of
a single case, and its single verdict on an output.
"""
SampleChange = Literal["clusters", "cases", "repeats", "judges", "verdicts", "better_judge"]
"""A change of the sample: twice the clusters, cases of each cluster, repeats, judges, or verdicts of a judge on each output; or a
judge without noise, the most that a better judge can achieve.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedInterval:
    """The interval of the mean after one change of the sample."""

    change: SampleChange
    half_width: float
    """Half the length of the interval, in the unit of the mean."""
    outputs: int
    """The number of additional outputs."""
    verdicts: int
    """The number of additional verdicts of judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceSplit:
    """The variance of a metric's scores by source, and the changes that would narrow its interval."""

    metric: str
    """The name of the metric; several judges of one metric share a split, under its name without the judge."""
    unit: str
    """The name of a cluster; `case` where cases are independent."""
    outputs: int
    verdicts: int
    """The number of verdicts of judges; 0 without a judge."""
    judges: int
    """The number of judges; 0 without one."""
    interval: Interval
    """The interval of the mean over outputs; the value of an output is the mean over its judges."""
    components: Mapping[VarianceSource, float | None] = field(default_factory=dict)
    """The variance of a single score from each source, in the squared unit of the mean; None where it cannot be estimated."""
    below_zero: tuple[VarianceSource, ...] = ()
    """Components whose estimate was below 0 and is reported as 0."""
    projections: tuple[ProjectedInterval, ...] = ()
    """The intervals after each change, the narrowest first."""
    advice: ProjectedInterval | None = None
    """The change that costs least among those whose interval is about as narrow as the narrowest."""
    reason: str = ""
    """Why the variance is not split; empty if it is."""

    @property
    def shares(self) -> Mapping[VarianceSource, float]:
        """The shares of the known sources in the variance of a single score."""
        known = {source: value for source, value in self.components.items() if value is not None}
        total = math.fsum(known.values())
        return {source: value / total for source, value in known.items()} if total else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryGroup:
    """One dataset on one target, in one mode."""

    dataset: str
    target: str
    mode: Mode
    tally: TrialCounts
    metrics: tuple[MetricSummary, ...]
    repeats: RepeatFigures | None = None
    """None without repeats, or if no trial passed or failed."""
    flipped: Share | None = None
    """Cases whose verdict differs between repeats, of those that passed or failed at least twice; None without such cases."""
    left_out: LeftOut | None = None
    """Why the trials of the group do not count for the headline figure; None if they count."""
    variances: tuple[VarianceSplit, ...] = ()
    """Of each metric with repeats, several judges, or several verdicts of a judge on each output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All figures of a run, computed in one pass over its results."""

    status: RunStatus
    missing: int | None
    """Planned trials that did not run; None if unknown."""
    total: TrialCounts
    """The headline figures: all trials that count."""
    groups: tuple[SummaryGroup, ...]
    """Counting groups first, then the others."""
    worst: tuple[Result, ...]
    """The trials to review first: those furthest below a missed mean, otherwise those that did not pass."""
    agreements: tuple[JudgeAgreement, ...]
    """One for each metric with several judges, over all trials."""
    until_decided: UntilDecided | None = None
    """How the run stopped early; None if every case was to run."""
    shard: Shard | None = None
    """Which shard of an evaluation the run is; None for a complete one."""
    left_out: TrialCounts | None = None
    """The trials that do not count for the headline; None if all count."""
    missed: tuple[str, ...] = ()
    """The metrics whose mean misses the gate."""
    by_target: Mapping[str, TrialCounts] = field(default_factory=dict)
    """The headline figures of each target; empty for a single target."""
    by_tag: Mapping[str, TrialCounts] = field(default_factory=dict)
    """The headline figures of the trials with each tag, in the order of the results; a trial with two tags counts for both. Without
    tags that all trials have; empty if cases have more than 100 different tags.
    """

    @property
    def trials(self) -> int:
        """All trials that ran, including those that do not count."""
        return self.total.trials + (self.left_out.trials if self.left_out else 0)

    @property
    def counted(self) -> tuple[SummaryGroup, ...]:
        """The groups that count for the gate."""
        return tuple(group for group in self.groups if not group.left_out)

    @property
    def reasons(self) -> Mapping[LeftOut, int]:
        """How many trials do not count, for each reason; empty if all count."""
        found = Counter[LeftOut]()
        for group in self.groups:
            if group.left_out:
                found[group.left_out] += group.tally.trials
        return found

    @property
    def metrics(self) -> tuple[MetricSummary, ...]:
        """The metrics of all groups."""
        return tuple(metric for group in self.groups for metric in group.metrics)

    @property
    def metric_names(self) -> Collection[str]:
        """The names of all metrics with a score, in the order of the run."""
        return dict.fromkeys(metric.name for metric in self.metrics).keys()


@check_arguments
def describe_left_out(counts: Mapping[LeftOut, int]) -> str:
    """Describe how many trials are left out, and why.

    >>> describe_left_out({"invalid": 3, "baseline": 1_000})
    '1,000 baseline, 3 not valid'
    """
    return ", ".join(f"{counts[why]:,} {reason}" for why, reason in REASONS.items() if counts.get(why))
