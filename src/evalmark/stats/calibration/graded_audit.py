"""Compares the scores of a judge with scores of people on the same outputs."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result, Trial
from evalmark.stats.agreement.corrected_rates import CorrectedRate, prediction_powered
from evalmark.stats.agreement.kappa_alpha import kappa_with_interval
from evalmark.stats.agreement.stratified_rates import stratified_rate
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Interval, no_interval
from evalmark.stats.inference.means import FEW, mean, mean_interval
from evalmark.stats.inference.shift import distribution_shift, score_distribution
from evalmark.stats.summary.clusters import case_name

from .audit import number_of
from .audit_results import UNLIKELY
from .judge_rates import CHOSEN

RANGES = 5
"""The largest number of ranges of scores that labels are weighted by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedTruth:
    """Scores of people, from 0 to 1."""

    scores: Mapping[str, float]
    """By trial id; a thumb is 1 or 0."""
    source: str
    """The source as part of a sentence: `scores of people`, `thumbs of people`."""
    is_drawn: bool = False
    """Whether evalmark drew the labelled outputs at random."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedMean:
    """The mean score of a target by the judge, and corrected for its errors."""

    target: str
    outputs: int
    """Outputs with a score of the judge."""
    labelled: int
    raw: float
    raw_interval: Interval
    stratified: CorrectedRate
    """From labels that are random within each range of scores; without a value, its interval is a bound."""
    powered: CorrectedRate
    """By prediction-powered inference, if labels may have been drawn at random among all outputs."""
    is_random: bool
    """Whether labelled and other outputs have scores of the same distribution, as far as can be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAudit:
    """How reliable the scores of a judge are."""

    metric: Metric
    source: str
    outputs: int
    """Outputs with a score of the judge and of people."""
    difference: float | None
    """By how much the judge scores higher than people, on average; None without such outputs."""
    difference_interval: Interval
    concordance: float | None
    """Lin's coefficient of concordance; None if it is undefined."""
    concordance_interval: Interval
    means: tuple[CorrectedMean, ...]
    is_drawn: bool
    """Whether evalmark drew the labelled outputs at random."""

    @property
    def is_told(self) -> bool:
        """Whether every mean was corrected."""
        return bool(self.outputs) and all(one.stratified.value is not None for one in self.means)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    key: str
    case: str
    target: str
    value: float


@check_arguments
def audit_scores(
    results: Iterable[Result],
    metric: Metric,
    truth: GradedTruth,
    level: float = LEVEL,
    *,
    cluster_of: Callable[[Trial], str] = case_name,
) -> GradedAudit:
    """Measure how far the scores of a metric, from 0 to 1, agree with those of people, and correct its mean.

    Lower is better for some metrics; their values are compared as they are. `cluster_of` names what outputs depend on
    each other by; each case is independent by default.
    """
    rows = [row for result in results if (row := _row(result, metric, cluster_of(result.trial))) is not None]
    both = [row for row in rows if row.key in truth.scores]
    judged, known = [row.value for row in both], [truth.scores[row.key] for row in both]
    cases = _clusters(both)
    concordance, interval = kappa_with_interval(known, judged, weighted=True, clusters=cases, level=level)
    apart = [j - k for j, k in zip(judged, known, strict=True)]
    by_target: defaultdict[str, list[_Scored]] = defaultdict(list)
    for row in rows:
        by_target[row.target].append(row)
    return GradedAudit(
        metric=metric,
        source=truth.source,
        outputs=len(both),
        difference=mean(apart),
        difference_interval=mean_interval(apart, level, clusters=cases, bounded=False),
        concordance=concordance,
        concordance_interval=interval,
        means=tuple(_mean(target, group, truth, level) for target, group in by_target.items()),
        is_drawn=truth.is_drawn,
    )


def _row(result: Result, metric: Metric, cluster: str) -> _Scored | None:
    value = next((number_of(score) for score in result.scores if score.name == metric.name), None)
    if value is None or result.output.error is not None or not 0 <= value <= 1:
        return None
    trial = result.trial
    return _Scored(key=trial.id, case=cluster, target=trial.target, value=value)


@check_arguments
def has_graded_scores(results: Iterable[Result], metric: str) -> bool:
    """Return whether a metric has values from 0 to 1 other than 0 and 1."""
    values = (number_of(score) for result in results for score in result.scores if score.name == metric)
    return any(value is not None and 0 < value < 1 for value in values)


def _clusters(rows: Sequence[_Scored]) -> Sequence[str] | None:
    cases = [row.case for row in rows]
    return None if len(set(cases)) == len(cases) else cases


def _mean(target: str, rows: Sequence[_Scored], truth: GradedTruth, level: float) -> CorrectedMean:
    values = [row.value for row in rows]
    labels = [truth.scores.get(row.key) for row in rows]
    cases: list[Hashable] = [row.case for row in rows]
    labelled = [row for row, label in zip(rows, labels, strict=True) if label is not None]
    others = [row for row, label in zip(rows, labels, strict=True) if label is None]
    before = score_distribution([row.value for row in others], [row.case for row in others])
    shift = (
        None
        if before is None
        else distribution_shift(before, [row.value for row in labelled], [row.case for row in labelled])
    )
    is_random = truth.is_drawn or shift is None or shift.p >= UNLIKELY
    return CorrectedMean(
        target=target,
        outputs=len(rows),
        labelled=len(labelled),
        raw=mean(values) or 0.0,
        raw_interval=mean_interval(values, level, clusters=_clusters(rows), bounded=True),
        stratified=stratified_rate(score_ranges(values), labels, cases, level),
        powered=_powered(labelled, others, truth, level, is_random=is_random),
        is_random=is_random,
    )


def _powered(
    labelled: Sequence[_Scored], others: Sequence[_Scored], truth: GradedTruth, level: float, *, is_random: bool
) -> CorrectedRate:
    """Correct the mean with one value for each case, because cases are sampled."""
    if not is_random:
        return CorrectedRate(value=None, interval=no_interval(CHOSEN, level))
    labels, judged = _by_case(labelled, truth.scores), _by_case(labelled)
    if len(labels) < FEW:
        return CorrectedRate(
            value=None, interval=no_interval(f"{len(labels)} labelled cases; at least {FEW} are needed", level)
        )
    rest = _by_case([row for row in others if row.case not in labels])
    return prediction_powered([*labels.values()], [*judged.values()], [*rest.values()], level=level)


def _by_case(rows: Sequence[_Scored], scores: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the mean of each case: of the judge's values, or of other scores."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        found[row.case].append(row.value if scores is None else scores[row.key])
    return {case: mean(values) or 0.0 for case, values in found.items()}


@check_arguments
def score_ranges(values: Sequence[float]) -> list[int]:
    """Return the number of the range of each value; each range has at least a fifth of all values.

    >>> score_ranges([n / 10 for n in range(10)])
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    >>> score_ranges([0, 0.5, 0.5, 0.5, 1, 1, 1, 1])
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    ends, inside, left = [], 0, len(values)
    for value, size in sorted(Counter(values).items()):
        inside, left = inside + size, left - size
        if RANGES * inside >= len(values) and RANGES * left >= len(values):
            ends.append(value)
            inside = 0
    return [bisect_left(ends, value) for value in values]
