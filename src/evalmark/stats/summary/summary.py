"""What a run came to: the figures every report prints and every gate reads."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalmark.core.values.run import RunStatus, Shard, UntilDecided
from evalmark.core.values.score import Direction, Mode, Result
from evalmark.stats.inference.intervals import Interval, Share
from evalmark.stats.inference.repeats import PassAtK

from .headline import LeftOut


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCounts:
    """How trials ended; the five endings add up to `trials`."""

    trials: int
    cases: int
    passed: int
    failed: int
    errors: int
    unscored: int
    ungated: int
    """Trials none of whose scores can pass or fail."""
    pass_rate: Share
    """Passed of those that passed or failed; errors, unscored and ungated trials are left out."""
    flips: int | None
    """Cases whose verdict differs between repeats; None when nothing was repeated."""
    seconds_median: float | None
    seconds_p95: float | None
    waited_median: float | None = None
    """Of what answers waited in queues beside their own time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstScore:
    """One of the worst scores of a metric, and what the scorer said of it."""

    case: str
    position: int
    repeat: int
    raw: Any
    """What the scorer said: a number, a truth value or a name; None where it was something else."""
    value: float | None
    passed: bool | None
    reason: str
    """Its first 1,000 characters."""
    asked: str = ""
    """The beginning of the input, of a case whose id was made and tells a reader nothing; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """What the scores of a metric tell of the judge that gave them; empty for metrics that ask none."""

    flipped: Share | None = None
    """Outputs that were judged several times with different verdicts, of all judged several times."""
    order_decided: Share | None = None
    """Comparisons whose winner changed with the order of the two answers, of all asked in both orders."""
    weighting: Mapping[str, int] = field(default_factory=dict)
    """How often a score was weighted by the probabilities of its tokens (`logprobs`), or why it was not (`plain: ...`)."""
    unscored: Mapping[str, int] = field(default_factory=dict)
    """Unusable judgements by kind: `judge_parse`, `judge_range`, `judge_refused` and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """One metric on one dataset and target."""

    name: str
    direction: Direction
    threshold: float | None
    """Per case; None when the scorer decides for itself or cannot pass."""
    scored: int
    unscored: int
    errors: int
    skipped: int
    missing: int
    """Trials this metric should have judged and did not: unscored, errors, and outputs that never came."""
    scale: Literal["value", "raw"] | None
    """What `mean` is of: values from 0 to 1; raw values where some had no value; None without either."""
    unit: str
    """The unit of `mean`; empty for values from 0 to 1."""
    n: int
    """How many scores `mean` is of; less than `scored` where some had neither value nor raw number."""
    mean: float | None
    interval: Interval
    raw_mean: float | None
    """The mean in the scorer's own unit, where that differs from `mean`."""
    raw_unit: str
    raw_interval: Interval | None
    """The interval of `raw_mean`, where the unit is a scale with known ends: `1..5`, `%`."""
    truths: bool
    """Whether every score said yes or no; `mean` is then the share of yes, of all verdicts where a judge gave several."""
    choices: Mapping[str, int]
    """How often each choice was made, by name; empty where scores say no names."""
    bins: tuple[int, ...]
    """How the scores spread over ten equal steps from `low` to `high`; empty without scores."""
    low: float
    high: float
    pass_rate: Share
    judge: str
    """The model that judges; empty for metrics that ask none."""
    base: str
    """What the metric is called without its judge, where several judges share it; else empty."""
    steadiness: Steadiness
    worst: tuple[WorstScore, ...]
    """The worst scores, the worst first; perfect ones are left out."""
    skip_reasons: Mapping[str, int]
    """Why scores were skipped, and how many for each reason; the first few reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePair:
    """How two judges of one metric compare, on the outputs that both scored."""

    judges: tuple[str, str]
    same: Share
    """Outputs of which both said exactly the same."""
    kappa: float | None
    """Cohen's kappa: agreement beyond luck. None where both always say one and the same, which shows nothing."""
    interval: Interval
    """Of `kappa`."""
    difference: float | None
    """Mean of what the second said minus what the first said, in the unit of the agreement."""
    difference_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAgreement:
    """How far several judges of one metric agree, over all datasets and targets of a run."""

    base: str
    """The metric, without its judges."""
    judges: tuple[str, ...]
    level: Literal["nominal", "ordinal", "interval"]
    """`nominal`: choices and truth values; `ordinal`: whole numbers of a scale; `interval`: other numbers."""
    unit: str
    """Of the differences; empty for values from 0 to 1."""
    n: int
    """Outputs that at least two judges scored."""
    pairs: tuple[JudgePair, ...]
    """Every two judges that have such an output in common."""
    alpha: float | None
    """Krippendorff's alpha over more than two judges, at `level`; None for two, and where it says nothing."""
    interval: Interval | None
    """Of `alpha`; None for two judges."""
    most_common: str
    """What was said most often; empty at level `interval`."""
    prevalence: float | None
    """Its share of everything said. Where it is near 1, kappa is low however often judges agree."""
    mean: float | None = None
    """Of the values over all judges and the outputs that at least two of them scored; None where an output has none."""
    mean_interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatFigures:
    """What several tries of each case tell: whether one of them passes, whether any would, and whether all would."""

    once: PassAtK
    """pass@1, which is pass^1: the mean over cases of the share of their judged tries that pass."""
    any_of: PassAtK
    """pass@k, with k as many as each case was asked; without a value where no case has so many judged tries."""
    all_of: PassAtK
    """pass^k, of the same cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryGroup:
    """One dataset on one target, each row on its own or as turns of a conversation."""

    dataset: str
    target: str
    mode: Mode
    tally: TrialCounts
    metrics: tuple[MetricSummary, ...]
    repeats: RepeatFigures | None = None
    """None where cases were asked once, or no trial passed or failed."""
    left_out: LeftOut | None = None
    """Why its trials stand beside the headline figure, as a group of their own; None where they count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All figures of one run, found in one pass over its results."""

    status: RunStatus
    missing: int | None
    """Trials that were planned and never ran; None when nobody knows how many."""
    total: TrialCounts
    """The headline: all trials but those that are left out of it."""
    groups: tuple[SummaryGroup, ...]
    """Those that count, then those that are left out."""
    worst: tuple[Result, ...]
    """The trials to look at first: where the gate misses a mean those furthest below it, else none that passed, and no perfect
    one that cannot pass."""
    agreements: tuple[JudgeAgreement, ...]
    """One for each metric that several judges share, over all trials."""
    until_decided: UntilDecided | None = None
    """How the run stopped early, where it was to stop once its gate is decided; None: it was to ask every case."""
    shard: Shard | None = None
    """Which share of an evaluation the run is; None: all of it."""
    left_out: TrialCounts | None = None
    """Of the trials that stand beside the headline: not valid, of an ungrounded rule, baseline; None where all count."""
    missed: tuple[str, ...] = ()
    """The metrics whose mean is not what the gate asks for."""
    by_target: Mapping[str, TrialCounts] = field(default_factory=dict)
    """Of the trials that count, those of each target; empty where there is one."""

    @property
    def trials(self) -> int:
        """All that ran, also those left out of the headline."""
        return self.total.trials + (self.left_out.trials if self.left_out else 0)

    @property
    def counted(self) -> tuple[SummaryGroup, ...]:
        """The groups whose trials count: what a gate looks at."""
        return tuple(group for group in self.groups if not group.left_out)

    @property
    def reasons(self) -> Mapping[LeftOut, int]:
        """Why trials are left out of the headline, and how many of each kind; empty where all count."""
        found = Counter[LeftOut]()
        for group in self.groups:
            if group.left_out:
                found[group.left_out] += group.tally.trials
        return found

    @property
    def metrics(self) -> tuple[MetricSummary, ...]:
        """The metrics of all groups, one after the other."""
        return tuple(metric for group in self.groups for metric in group.metrics)

    @property
    def metric_names(self) -> Collection[str]:
        """Every metric that any trial has a score of, in the order of the run."""
        return dict.fromkeys(metric.name for metric in self.metrics).keys()
