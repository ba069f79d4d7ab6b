"""What a run came to: the figures every report prints and every gate reads."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from evalmark.values import Direction, Result, RunStatus

from .intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """So many of so many."""

    passed: int
    n: int
    value: float | None
    """None when `n` is 0."""
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
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
    bins: tuple[int, ...]
    """How the scores spread over ten equal steps from `low` to `high`; empty without scores."""
    low: float
    high: float
    pass_rate: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One dataset on one target."""

    dataset: str
    target: str
    tally: Tally
    metrics: tuple[MetricSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All figures of one run, found in one pass over its results."""

    status: RunStatus
    missing: int | None
    """Trials that were planned and never ran; None when nobody knows how many."""
    total: Tally
    groups: tuple[Group, ...]
    worst: tuple[Result, ...]
    """The trials to look at first; none that passed."""

    @property
    def metrics(self) -> tuple[MetricSummary, ...]:
        """The metrics of all groups, one after the other."""
        return tuple(metric for group in self.groups for metric in group.metrics)

    @property
    def metric_names(self) -> Collection[str]:
        """Every metric that any trial has a score of, in the order of the run."""
        return dict.fromkeys(metric.name for metric in self.metrics).keys()
