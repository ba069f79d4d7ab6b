"""Plans how many cases, at which repeats, detect a difference, from how much earlier runs of the suite varied."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import NormalDist, fmean, pvariance, variance

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import Run
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, wilson
from evalmark.stats.inference.power import POWER, cases_needed, pairs_needed
from evalmark.stats.summary.clusters import ClusterFinder

from .baseline_choice import is_complete_run
from .case_matching import match
from .metric_values import VERDICT, MetricValues, TargetValues, target_values

RANGE = 0.8
"""The level of the intervals of what earlier runs measured."""
REPEATS = (1, 3, 5)
"""Repeats to plan for, besides those of the run."""
ASSUMED = (0.1, 0.2, 0.3)
"""Shares of cases that change from run to run, where no earlier run tells."""


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


@check_arguments
def sample_size_plan(
    runs: Iterable[Run], effect: float, power: float | None = None, *, repeat: int = 1, level: float = LEVEL
) -> SampleSizePlan:
    """Plan how many cases detect a difference of `effect` in each metric.

    The newest two complete runs tell how much a case varies from run to run when nothing else is known; their
    repeats tell how much of it is the chance of a single answer, which more repeats average out. One run with repeats
    is enough for that part. To pass rates the wanted change itself is added: a share `effect` of the cases flips for good.

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
    pair = _measured(found)
    if pair is None:
        return SampleSizePlan(effect=effect, power=power, level=level, metrics=tuple(_assumed(wanted, repeat)))
    target, newer, older = pair
    verdicts = newer.metrics[VERDICT].values
    names = [name for name, one in newer.metrics.items() if name == VERDICT or one.values != verdicts]
    metrics = [one for name in names if (one := _of_metric(name, newer, older, wanted)) is not None and one.needed]
    used = found if older is not None else found[:1]
    return SampleSizePlan(
        effect=effect,
        power=power,
        level=level,
        runs=tuple(run.id for run in used),
        target=target,
        metrics=tuple(metrics),
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    effect: float
    power: float
    level: float
    repeats: tuple[int, ...]

    def of_passes(self, share: float) -> int | None:
        """Return the cases for pass or fail, if `share` of them changes by chance alone."""
        return pairs_needed(self.effect, min(1.0, share + self.effect), self.level, self.power)

    def of_means(self, spread: float) -> int | None:
        return cases_needed(self.effect, variance=spread, level=self.level, power=self.power)


def _measured(runs: Sequence[Run]) -> tuple[str, TargetValues, TargetValues | None] | None:
    """Return the first target that both runs have, or one run with repeats, and its values."""
    if not runs:
        return None
    finder = ClusterFinder(*reversed(runs))
    newer = target_values(runs[0], finder)
    older = target_values(runs[1], finder) if len(runs) > 1 else {}
    shared = next((name for name in newer if name in older), None)
    if shared is not None:
        return shared, newer[shared], older[shared]
    repeated = next((name for name, one in newer.items() if any(count > 1 for count in one.trials.values())), None)
    return None if repeated is None else (repeated, newer[repeated], None)


def _assumed(wanted: _Wanted, repeat: int) -> Iterator[MetricSampleSize]:
    for share in ASSUMED:
        if (cases := wanted.of_passes(share)) is not None:
            needed = CasesNeeded(repeats=repeat, fewest=cases, likely=cases, most=cases)
            yield MetricSampleSize(metric=VERDICT, cases=0, share=(share, share, share), spread=None, needed=(needed,))


def _of_metric(name: str, newer: TargetValues, older: TargetValues | None, wanted: _Wanted) -> MetricSampleSize | None:
    mine, theirs = newer.metrics[name], None if older is None else older.metrics.get(name, MetricValues())
    if mine.valueless or not mine.values or (theirs is not None and (theirs.valueless or not theirs.values)):
        return None
    within = _within([mine, *([theirs] if theirs is not None else [])])
    is_share = all(value in (0.0, 1.0) for values in mine.values.values() for value in values)
    if theirs is None or older is None:
        return None if within is None else _of_variance(name, within, None, wanted, is_share=is_share)
    pairs = match(newer.cases, older.cases).pairs
    now, before = mine.means(), theirs.means()
    differences = [now[key] - before[old] for key, old in pairs.items() if key in now and old in before]
    if len(differences) < 2:
        return None
    answers = sum(fmean(1 / len(values) for values in one.values.values()) for one in (mine, theirs))
    if is_share and within is None:
        return _of_changes(name, differences, wanted)
    return _of_variance(name, within, _Spread(differences, answers), wanted, is_share=is_share)


def _of_changes(name: str, differences: Sequence[float], wanted: _Wanted) -> MetricSampleSize:
    """Plan for cases that were run once and passed or failed."""
    changed, n = sum(difference != 0 for difference in differences), len(differences)
    low, high = wilson(changed, n, RANGE).ends or (0.0, 1.0)
    shares = (low, changed / n, high)
    counts = [wanted.of_passes(share) for share in shares]
    needed = [
        CasesNeeded(repeats=1, fewest=a, likely=b, most=c)
        for a, b, c in (counts,)
        if a is not None and b is not None and c is not None
    ]
    return MetricSampleSize(metric=name, cases=n, share=shares, spread=None, needed=tuple(needed))


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
    name: str, within: _Within | None, between: _Spread | None, wanted: _Wanted, *, is_share: bool
) -> MetricSampleSize:
    """Plan by the variance of a case's mean difference, split into the chance of an answer and what stays."""
    one = within.value if within is not None else 0.0
    lasting = 0.0 if between is None else max(0.0, between.variance - one * between.answers)
    error = max(within.error if within is not None else 0.0, between.error if between is not None else 0.0)
    factor = math.exp(NormalDist().inv_cdf((1 + RANGE) / 2) * error)
    flips = wanted.effect * (1 - wanted.effect) if is_share else 0.0
    repeats = (
        wanted.repeats if within is not None else (max(1, round(2 / between.answers)) if between is not None else 1,)
    )
    needed = []
    for k in repeats:
        spread = lasting + 2 * one / k
        fewest, likely, most = (wanted.of_means(spread * by + flips) for by in (1 / factor, 1.0, factor))
        if fewest is not None and likely is not None and most is not None:
            needed.append(CasesNeeded(repeats=k, fewest=fewest, likely=likely, most=most))
    first = lasting + 2 * one / repeats[0]
    ends = (math.sqrt(first / factor), math.sqrt(first), math.sqrt(first * factor))
    cases = len(between.differences) if between is not None else within.cases if within is not None else 0
    return MetricSampleSize(metric=name, cases=cases, share=None, spread=ends, needed=tuple(needed))
