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
from evalmark.stats.inference.power import POWER, cases_needed, pairs_needed
from evalmark.stats.summary.clusters import ClusterFinder

from .baseline_choice import is_complete_run
from .case_matching import match
from .change import Key
from .metric_values import VERDICT, MetricValues, TargetValues, target_values

RANGE = 0.8
"""The level of the intervals of what earlier runs measured."""
REPEATS = (1, 3, 5)
"""Repeats to plan for, besides those of the run."""
ASSUMED = (0.1, 0.2, 0.3)
"""Shares of cases that change by chance, where no earlier run tells."""
_CLUSTERED = 1.5
"""From this mean size of clusters on, the test over clusters is planned for."""
_UNKNOWN = (0.0, 0.0, 1.0)
"""The correlation within clusters where values that are all equal do not tell."""
Range = tuple[float, float, float]
"""The low end, the measured value and the high end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesNeeded:
    """How many cases detect the difference at some repeats."""

    repeats: int
    fewest: int
    likely: int
    most: int
    """By the upper end of what the earlier runs leave possible: the number to plan for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSampleSize:
    """The cases that one metric needs, and what they were computed from."""

    metric: str
    """Empty: the pass rate."""
    cases: int
    """Cases on which the spread was measured; 0 if it is assumed."""
    share: tuple[float, float, float] | None
    """The share of cases whose verdict changes between runs: low, measured, high; None for graded metrics."""
    spread: tuple[float, float, float] | None
    """The standard deviation of a case's difference: low, measured, high; None if `share` is known."""
    needed: tuple[CasesNeeded, ...]
    """For each number of repeats, the fewest first."""
    icc: Range | None = None
    """The correlation of two values of one cluster; None without clusters."""
    chance_icc: Range | None = None
    """The same of changes by chance; None without clusters, and without two runs."""


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
    """The run that tells how much cases of a cluster are alike, where it alone was measured."""
    is_repeated: bool = False
    """Whether the runs have repeats, which tell the chance of a single answer."""


@check_arguments
def sample_size_plan(
    runs: Iterable[Run], effect: float, power: float | None = None, *, repeat: int = 1, level: float = LEVEL
) -> SampleSizePlan:
    """Plan how many cases detect a difference of `effect` in each metric.

    The newest two complete runs tell how much a case varies from run to run when nothing else is known; their
    repeats tell how much of it is the chance of a single answer, which more repeats average out. One run with repeats
    is enough for that part. To pass rates the wanted change itself is added: a share `effect` of the cases flips for good,
    and flips are as alike within a cluster of cases, such as a document, as passes are in the newest run.

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
    for name, value in (("--detect", effect), ("--power", power)):
        if not 0 < value < 1:
            raise ConfigError(f"{name} is {value:g}; it must be above 0 and below 1.")
    wanted = _Wanted(effect, power, level, tuple(sorted({*REPEATS, repeat})))
    found = list(islice((run for run in runs if is_complete_run(run)), 2))
    finder = ClusterFinder(*reversed(found))
    pair = _measured(found, finder)
    if pair is None:
        return _assumed(wanted, repeat, found[:1], finder)
    target, newer, older = pair
    verdicts = newer.metrics[VERDICT].values
    names = [name for name, one in newer.metrics.items() if name == VERDICT or one.values != verdicts]
    metrics = [one for name in names if (one := _of_metric(name, newer, older, wanted)) is not None and one.needed]
    size = cluster_size([*newer.clusters.values()])
    used = found if older is not None else found[:1]
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
class _Wanted:
    effect: float
    power: float
    level: float
    repeats: tuple[int, ...]

    def of_passes(self, share: float, size: float = 1.0, icc: tuple[float, float] = (0.0, 0.0)) -> int | None:
        """Return the cases for pass or fail, if `share` of them changes by chance alone; `icc` of these and of other changes."""
        if size >= _CLUSTERED:
            return clustered_pairs_needed(self.effect, share, round(size), icc, self.level, self.power)
        found = pairs_needed(self.effect, min(1.0, share + self.effect), self.level, self.power)
        return None if found is None else math.ceil(found * (1 + (size - 1) * max(icc)))

    def of_means(self, spread: float, size: float = 1.0) -> int | None:
        """Return the cases for means, if this is the variance of a case, with what clusters widen it by."""
        if size >= _CLUSTERED:
            return clustered_cases_needed(self.effect, spread, size, self.level, self.power)
        return cases_needed(self.effect, variance=spread, level=self.level, power=self.power)


@dataclass(frozen=True, slots=True)
class _Dependence:
    """How much the cases of a cluster depend on each other; nothing where `size` is 1."""

    size: float = 1.0
    values: Range = (0.0, 0.0, 0.0)
    """The correlation of their values, which is assumed of changes for good."""
    chance: Range = (0.0, 0.0, 0.0)
    """That of their differences between two runs."""


_INDEPENDENT = _Dependence()


def _dependence(
    clusters: Mapping[Key, int], values: Mapping[Key, float], differences: Mapping[Key, float]
) -> _Dependence:
    def icc(found: Mapping[Key, float]) -> Range:
        return intraclass([*found.values()], [clusters[key] for key in found], RANGE) or _UNKNOWN

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


def _assumed(wanted: _Wanted, repeat: int, runs: Sequence[Run], finder: ClusterFinder) -> SampleSizePlan:
    """Plan for assumed shares of cases that change by chance; one run tells how much clusters of cases are alike."""
    one = next((one for run in runs for one in target_values(run, finder).values()), TargetValues())
    verdicts = one.metrics.get(VERDICT, MetricValues())
    alike = _dependence(one.clusters, _first_values(verdicts), {}) if verdicts.values else _INDEPENDENT
    is_clustered = alike is not _INDEPENDENT
    return SampleSizePlan(
        effect=wanted.effect,
        power=wanted.power,
        level=wanted.level,
        metrics=tuple(_of_assumed(wanted, repeat, alike)),
        unit=finder.unit(one.sources.values()) if is_clustered else "",
        cluster_size=alike.size,
        cluster_run=runs[0].id if is_clustered else "",
    )


def _of_assumed(wanted: _Wanted, repeat: int, alike: _Dependence) -> Iterator[MetricSampleSize]:
    for share in ASSUMED:
        counts = [wanted.of_passes(share, alike.size, (0.0, icc)) for icc in alike.values]
        for needed in _needed(repeat, counts):
            icc = None if alike is _INDEPENDENT else alike.values
            yield MetricSampleSize(
                metric=VERDICT, cases=0, share=(share, share, share), spread=None, needed=(needed,), icc=icc
            )


def _needed(repeats: int, counts: Sequence[int | None]) -> Iterator[CasesNeeded]:
    """Yield the numbers, from the fewest to the most, if all are known."""
    fewest, likely, most = counts
    if fewest is not None and likely is not None and most is not None:
        yield CasesNeeded(repeats=repeats, fewest=fewest, likely=likely, most=most)


def _first_values(column: MetricValues) -> Mapping[Key, float]:
    """Return the first answer's value of each case, so that repeats do not change how alike cases are."""
    return {key: values[0] for key, values in column.values.items()}


def _of_metric(name: str, newer: TargetValues, older: TargetValues | None, wanted: _Wanted) -> MetricSampleSize | None:
    mine, theirs = newer.metrics[name], None if older is None else older.metrics.get(name, MetricValues())
    if mine.valueless or not mine.values or (theirs is not None and (theirs.valueless or not theirs.values)):
        return None
    within = _within([mine, *([theirs] if theirs is not None else [])])
    is_share = all(value in (0.0, 1.0) for values in mine.values.values() for value in values)
    now = mine.means()
    if theirs is None or older is None:
        alike = _dependence(newer.clusters, _first_values(mine), {})
        found = None if within is None else _of_variance(within, None, wanted, alike, is_share=is_share)
    else:
        pairs, before = match(newer.cases, older.cases).pairs, theirs.means()
        apart = {key: now[key] - before[old] for key, old in pairs.items() if key in now and old in before}
        if len(apart) < 2:
            return None
        differences, alike = [*apart.values()], _dependence(newer.clusters, _first_values(mine), apart)
        if is_share and within is None:
            found = _of_changes(differences, wanted, alike)
        else:
            answers = sum(fmean(1 / len(values) for values in one.values.values()) for one in (mine, theirs))
            found = _of_variance(within, _Spread(differences, answers), wanted, alike, is_share=is_share)
    if found is None or alike is _INDEPENDENT:
        return None if found is None else replace(found, metric=name)
    return replace(found, metric=name, icc=alike.values, chance_icc=alike.chance if theirs is not None else None)


def _of_changes(differences: Sequence[float], wanted: _Wanted, alike: _Dependence) -> MetricSampleSize:
    """Plan for cases that were run once and passed or failed."""
    changed, n = sum(difference != 0 for difference in differences), len(differences)
    low, high = wilson(changed, n, RANGE).ends or (0.0, 1.0)
    shares = (low, changed / n, high)
    correlations = zip(alike.chance, alike.values, strict=True)
    counts = [wanted.of_passes(share, alike.size, icc) for share, icc in zip(shares, correlations, strict=True)]
    return MetricSampleSize(metric="", cases=n, share=shares, spread=None, needed=tuple(_needed(1, counts)))


@dataclass(frozen=True, slots=True)
class _Within:
    """The variance of one answer of a case, over cases with repeats."""

    value: float
    error: float
    """The relative standard error of `value`."""
    cases: int


def _within(columns: Sequence[MetricValues]) -> _Within | None:
    of_cases = [variance(values) for one in columns for values in one.values.values() if len(values) > 1]
    if len(of_cases) < 2:
        return None
    value = fmean(of_cases)
    error = math.sqrt(variance(of_cases) / len(of_cases)) / value if value else 0.0
    return _Within(value, error, len(of_cases))


@dataclass(frozen=True, slots=True)
class _Spread:
    """The differences of the cases between two runs."""

    differences: Sequence[float]
    answers: float
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


def _of_variance(
    within: _Within | None, between: _Spread | None, wanted: _Wanted, alike: _Dependence, *, is_share: bool
) -> MetricSampleSize:
    """Plan by the variance of a case's mean difference, split into the chance of an answer and what stays.

    Clusters widen what stays by the covariance of its differences, and changes for good by the correlation of values.
    """
    one = within.value if within is not None else 0.0
    lasting = 0.0 if between is None else max(0.0, between.variance - one * between.answers)
    error = max(within.error if within is not None else 0.0, between.error if between is not None else 0.0)
    factor = math.exp(NormalDist().inv_cdf((1 + RANGE) / 2) * error)
    flips = wanted.effect * (1 - wanted.effect) if is_share else 0.0
    repeats = (
        wanted.repeats if within is not None else (max(1, round(2 / between.answers)) if between is not None else 1,)
    )
    needed: list[CasesNeeded] = []
    for k in repeats:
        spread, others = lasting + 2 * one / k, alike.size - 1
        shared = [icc * between.variance if between is not None else 0.0 for icc in alike.chance]
        counts = [
            wanted.of_means((spread + others * covariance) * by + flips * (1 + others * icc), alike.size)
            for by, covariance, icc in zip((1 / factor, 1.0, factor), shared, alike.values, strict=True)
        ]
        needed += _needed(k, counts)
    first = lasting + 2 * one / repeats[0]
    ends = (math.sqrt(first / factor), math.sqrt(first), math.sqrt(first * factor))
    cases = len(between.differences) if between is not None else within.cases if within is not None else 0
    return MetricSampleSize(metric="", cases=cases, share=None, spread=ends, needed=tuple(needed))
