"""Plans how many cases, at which repeats, detect a difference, from how much earlier runs of the suite varied."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import NormalDist, fmean, pvariance, variance

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import Run
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.clustered_power import (
    cluster_size,
    clustered_cases_needed,
    clustered_pairs_needed,
    intraclass,
)
from evalmark.stats.inference.intervals import LEVEL, wilson
from evalmark.stats.inference.power import POWER, pairs_needed
from evalmark.stats.summary.clusters import ClusterFinder

from .baseline_choice import is_complete_run
from .case_matching import match
from .change import Key
from .metric_values import VERDICT, MetricValues, TargetValues, target_values

RANGE = 0.8
"""The confidence level of the intervals of what earlier runs measured."""
REPEATS = (1, 3, 5)
"""Repeats to plan for, besides those of the run."""
ASSUMED = (0.1, 0.2, 0.3)
"""Shares of cases that change by chance, where no earlier run tells."""
_CLUSTERED = 1.5
"""The smallest mean size of clusters for which the test over clusters is planned."""
_UNKNOWN_ICC = (0.0, 0.0, 1.0)
"""The correlation within clusters where all values are equal, so that it cannot be measured."""
Range = tuple[float, float, float]
"""The low end, the measured value and the high end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesNeeded:
    """The number of cases that detect the difference, for a number of repeats."""

    repeats: int
    fewest: int
    likely: int
    most: int
    """For the upper end of what was measured: the number to plan for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSampleSize:
    """The cases that one metric needs, and what they were computed from."""

    metric: str
    """Empty: the pass rate."""
    cases: int
    """Cases on which the spread was measured; 0 if it is assumed."""
    share: Range | None
    """The share of cases whose verdict changes between runs by chance; None for graded metrics."""
    spread: Range | None
    """The standard deviation of a case's difference between runs; None if `share` is known."""
    needed: tuple[CasesNeeded, ...]
    """For each number of repeats, the fewest first."""
    icc: Range | None = None
    """The correlation of two values of one cluster; None without clusters."""
    chance_icc: Range | None = None
    """The correlation of two changes by chance in one cluster; None without clusters, and without two runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSizePlan:
    """How many cases a comparison needs to detect a difference."""

    effect: float
    power: float
    level: float
    runs: tuple[str, ...] = ()
    """The ids of the runs that the spread was measured on, the newest first; empty if it is assumed."""
    target: str = ""
    metrics: tuple[MetricSampleSize, ...] = ()
    unit: str = ""
    """What a cluster of cases is called, such as `document`; empty where each case is independent."""
    cluster_size: float = 1.0
    """The cases of a cluster, see `cluster_size`; 1 where each case is independent."""
    cluster_run: str = ""
    """The run on which the correlation within clusters was measured, where the share of changes is assumed."""
    is_repeated: bool = False
    """Whether the runs have repeats, by which the variance within a case is measured."""


@check_arguments
def check_effect(effect: float, power: float | None) -> None:
    """Refuse a difference or a power of `sample_size_plan` that is out of range.

    Raises:
        ConfigError: a number is not above 0 and below 1.
    """
    for name, value in (("--detect", effect), ("--power", power)):
        if value is not None and not 0 < value < 1:
            raise ConfigError(f"{name} is {value:g}; it must be above 0 and below 1.")


@check_arguments
def sample_size_plan(
    runs: Iterable[Run], effect: float, power: float | None = None, *, repeat: int = 1, level: float = LEVEL
) -> SampleSizePlan:
    """Plan how many cases detect a difference of `effect` in each metric.

    The variance of a case between runs is measured on the newest two complete runs; their repeats give the part within
    a case, which more repeats average out. One run with repeats is enough for that part. For pass rates the change to
    detect adds to it: a share `effect` of the cases changes for good, with the same correlation within a cluster of cases,
    such as a document, as the passes of the newest run.

    Args:
        runs: runs of the suite, the newest first.
        effect: the difference to detect, as a share of 1, above 0 and below 1.
        power: the probability of detecting it, between 0 and 1; None: 80 %.
        repeat: the planned repeats of a case, from 1.
        level: the confidence level of the comparison, between 0 and 1.

    Returns:
        The plan; without earlier runs, for three assumed shares of changing cases.

    Raises:
        ConfigError: `effect` or `power` is out of range.

    >>> plan = sample_size_plan([], 0.1)
    >>> [one.needed[0].most for one in plan.metrics]
    [152, 230, 311]
    """
    power = POWER if power is None else power
    check_effect(effect, power)
    goal = _Goal(effect, power, level, tuple(sorted({*REPEATS, repeat})))
    newest = list(islice((run for run in runs if is_complete_run(run)), 2))
    finder = ClusterFinder(*reversed(newest))
    pair = _measured(newest, finder)
    if pair is None:
        return _assumed_plan(goal, repeat, newest[:1], finder)
    target, newer, older = pair
    verdicts = newer.metrics[VERDICT].values
    names = [name for name, one in newer.metrics.items() if name == VERDICT or one.values != verdicts]
    metrics = [one for name in names if (one := _plan_metric(name, newer, older, goal)) is not None and one.needed]
    size = cluster_size([*newer.clusters.values()])
    used = newest if older is not None else newest[:1]
    return SampleSizePlan(
        effect=effect,
        power=power,
        level=level,
        runs=tuple(run.id for run in used),
        target=target,
        metrics=tuple(metrics),
        unit=finder.unit(newer.sources.values()) if size > 1 else "",
        cluster_size=size,
        is_repeated=any(count > 1 for count in newer.trials.values()),
    )


@dataclass(frozen=True, slots=True)
class _Goal:
    effect: float
    power: float
    level: float
    repeats: tuple[int, ...]

    def cases_for_shares(self, share: float, size: float = 1.0, icc: tuple[float, float] = (0.0, 0.0)) -> int | None:
        """Return the cases for a pass rate if a share of them changes by chance; `icc` is that of these and of lasting changes."""
        if size >= _CLUSTERED:
            return clustered_pairs_needed(self.effect, share, round(size), icc, self.level, self.power)
        cases = pairs_needed(self.effect, min(1.0, share + self.effect), self.level, self.power)
        return None if cases is None else math.ceil(cases * (1 + (size - 1) * max(icc)))

    def cases_for_means(self, variance: float, size: float = 1.0) -> int | None:
        """Return the cases for a mean, with the variance of a case times its design effect."""
        return clustered_cases_needed(self.effect, variance, size, self.level, self.power)


@dataclass(frozen=True, slots=True)
class _Dependence:
    """How much the cases of a cluster depend on each other; they are independent where `size` is 1."""

    size: float = 1.0
    value_icc: Range = (0.0, 0.0, 0.0)
    """The correlation of their values, which is also assumed of changes for good."""
    change_icc: Range = (0.0, 0.0, 0.0)
    """The correlation of their differences between two runs."""


_INDEPENDENT = _Dependence()


def _dependence(
    clusters: Mapping[Key, int], values: Mapping[Key, float], differences: Mapping[Key, float]
) -> _Dependence:
    def icc(numbers: Mapping[Key, float]) -> Range:
        return intraclass([*numbers.values()], [clusters[key] for key in numbers], RANGE) or _UNKNOWN_ICC

    size = cluster_size([clusters[key] for key in values])
    if size == 1:
        return _INDEPENDENT
    return _Dependence(size, icc(values), icc(differences) if differences else (0.0, 0.0, 0.0))


def _measured(runs: Sequence[Run], finder: ClusterFinder) -> tuple[str, TargetValues, TargetValues | None] | None:
    """Return the first target that both runs have, or one run with repeats, and its values."""
    if not runs:
        return None
    newer = target_values(runs[0], finder)
    older = target_values(runs[1], finder) if len(runs) > 1 else {}
    shared = next((name for name in newer if name in older), None)
    if shared is not None:
        return shared, newer[shared], older[shared]
    repeated = next((name for name, one in newer.items() if any(count > 1 for count in one.trials.values())), None)
    return None if repeated is None else (repeated, newer[repeated], None)


def _assumed_plan(goal: _Goal, repeat: int, runs: Sequence[Run], finder: ClusterFinder) -> SampleSizePlan:
    """Plan for assumed shares of cases that change by chance; one run gives the correlation within clusters."""
    one = next((one for run in runs for one in target_values(run, finder).values()), TargetValues())
    verdicts = one.metrics.get(VERDICT, MetricValues())
    dependence = _dependence(one.clusters, _first_values(verdicts), {}) if verdicts.values else _INDEPENDENT
    is_clustered = dependence is not _INDEPENDENT
    return SampleSizePlan(
        effect=goal.effect,
        power=goal.power,
        level=goal.level,
        metrics=tuple(_plan_assumed(goal, repeat, dependence)),
        unit=finder.unit(one.sources.values()) if is_clustered else "",
        cluster_size=dependence.size,
        cluster_run=runs[0].id if is_clustered else "",
    )


def _plan_assumed(goal: _Goal, repeat: int, dependence: _Dependence) -> Iterator[MetricSampleSize]:
    for share in ASSUMED:
        counts = [goal.cases_for_shares(share, dependence.size, (0.0, icc)) for icc in dependence.value_icc]
        for needed in _needed(repeat, counts):
            icc = None if dependence is _INDEPENDENT else dependence.value_icc
            yield MetricSampleSize(
                metric=VERDICT, cases=0, share=(share, share, share), spread=None, needed=(needed,), icc=icc
            )


def _needed(repeats: int, counts: Sequence[int | None]) -> Iterator[CasesNeeded]:
    """Yield the numbers, from the fewest to the most, if all are known."""
    fewest, likely, most = counts
    if fewest is not None and likely is not None and most is not None:
        yield CasesNeeded(repeats=repeats, fewest=fewest, likely=likely, most=most)


def _first_values(column: MetricValues) -> Mapping[Key, float]:
    """Return the value of the first repeat of each case, so that repeats do not change the correlation of cases."""
    return {key: values[0] for key, values in column.values.items()}


def _plan_metric(name: str, newer: TargetValues, older: TargetValues | None, goal: _Goal) -> MetricSampleSize | None:
    mine, theirs = newer.metrics[name], None if older is None else older.metrics.get(name, MetricValues())
    if mine.valueless or not mine.values or (theirs is not None and (theirs.valueless or not theirs.values)):
        return None
    within = _repeat_variance([mine, *([theirs] if theirs is not None else [])])
    is_share = mine.is_two_valued
    now = mine.means()
    if theirs is None or older is None:
        dependence = _dependence(newer.clusters, _first_values(mine), {})
        planned = None if within is None else _plan_variance(within, None, goal, dependence, is_share=is_share)
    else:
        pairs, before = match(newer.cases, older.cases).pairs, theirs.means()
        changes = {key: now[key] - before[old] for key, old in pairs.items() if key in now and old in before}
        if len(changes) < 2:
            return None
        differences = [*changes.values()]
        dependence = _dependence(newer.clusters, _first_values(mine), changes)
        if is_share and within is None:
            planned = _plan_changes(differences, goal, dependence)
        else:
            inverse_repeats = sum(fmean(1 / len(values) for values in one.values.values()) for one in (mine, theirs))
            planned = _plan_variance(
                within, _RunDifferences(differences, inverse_repeats), goal, dependence, is_share=is_share
            )
    if planned is None or dependence is _INDEPENDENT:
        return None if planned is None else replace(planned, metric=name)
    return replace(
        planned, metric=name, icc=dependence.value_icc, chance_icc=dependence.change_icc if theirs is not None else None
    )


def _plan_changes(differences: Sequence[float], goal: _Goal, dependence: _Dependence) -> MetricSampleSize:
    """Plan for cases that were run once and passed or failed."""
    changed, n = sum(difference != 0 for difference in differences), len(differences)
    low, high = wilson(changed, n, RANGE).ends or (0.0, 1.0)
    shares = (low, changed / n, high)
    correlations = zip(dependence.change_icc, dependence.value_icc, strict=True)
    counts = [
        goal.cases_for_shares(share, dependence.size, icc) for share, icc in zip(shares, correlations, strict=True)
    ]
    return MetricSampleSize(metric="", cases=n, share=shares, spread=None, needed=tuple(_needed(1, counts)))


@dataclass(frozen=True, slots=True)
class _RepeatVariance:
    """The variance between the repeats of a case, over cases with repeats."""

    value: float
    error: float
    """The relative standard error of `value`."""
    cases: int


def _repeat_variance(columns: Sequence[MetricValues]) -> _RepeatVariance | None:
    of_cases = [variance(values) for one in columns for values in one.values.values() if len(values) > 1]
    if len(of_cases) < 2:
        return None
    value = fmean(of_cases)
    error = math.sqrt(variance(of_cases) / len(of_cases)) / value if value else 0.0
    return _RepeatVariance(value, error, len(of_cases))


@dataclass(frozen=True, slots=True)
class _RunDifferences:
    """The differences of the cases between two runs."""

    differences: Sequence[float]
    inverse_repeats: float
    """1/k of the newer run plus 1/k of the older one, with k repeats of a case."""

    @property
    def variance(self) -> float:
        return variance(self.differences)

    @property
    def error(self) -> float:
        """The relative standard error of the variance, from the fourth moment."""
        mean, spread = fmean(self.differences), pvariance(self.differences)
        if not spread:
            return 0.0
        fourth = fmean((one - mean) ** 4 for one in self.differences) / spread**2
        return math.sqrt(max(0.0, fourth - 1) / len(self.differences))


def _plan_variance(
    within: _RepeatVariance | None,
    between: _RunDifferences | None,
    goal: _Goal,
    dependence: _Dependence,
    *,
    is_share: bool,
) -> MetricSampleSize:
    """Plan by the variance of a case's mean difference, split into that between repeats and the rest.

    Clusters increase the rest by the covariance of its differences, and changes for good by the correlation of values.
    """
    one = within.value if within is not None else 0.0
    lasting = 0.0 if between is None else max(0.0, between.variance - one * between.inverse_repeats)
    error = max(within.error if within is not None else 0.0, between.error if between is not None else 0.0)
    factor = math.exp(NormalDist().inv_cdf((1 + RANGE) / 2) * error)
    flips = goal.effect * (1 - goal.effect) if is_share else 0.0
    repeats = (
        goal.repeats
        if within is not None
        else (max(1, round(2 / between.inverse_repeats)) if between is not None else 1,)
    )
    needed: list[CasesNeeded] = []
    for k in repeats:
        spread, others = lasting + 2 * one / k, dependence.size - 1
        shared = [icc * between.variance if between is not None else 0.0 for icc in dependence.change_icc]
        counts = [
            goal.cases_for_means((spread + others * covariance) * by + flips * (1 + others * icc), dependence.size)
            for by, covariance, icc in zip((1 / factor, 1.0, factor), shared, dependence.value_icc, strict=True)
        ]
        needed += _needed(k, counts)
    first = lasting + 2 * one / repeats[0]
    ends = (math.sqrt(first / factor), math.sqrt(first), math.sqrt(first * factor))
    cases = len(between.differences) if between is not None else within.cases if within is not None else 0
    return MetricSampleSize(metric="", cases=cases, share=None, spread=ends, needed=tuple(needed))
