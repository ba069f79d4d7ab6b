"""Collects the scores of one metric in one group, and computes its summary."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Literal

from evalmark.core.values.run import Metric
from evalmark.core.values.score import Direction, Score, Trial
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import Interval
from evalmark.stats.inference.means import mean, mean_interval, share

from .steadiness import SteadinessCounts
from .summary import MetricSummary
from .worst import WorstScores

BINS = 10
CHOICES = 50
"""A metric with more different texts than this has free texts, not labels."""
SKIP_REASONS = 5
"""The largest number of reasons for skipped scores that are kept for one metric."""
_LONGEST = 100
"""Characters of a label."""
_UNKNOWN = math.nan  # marks a gap in the arrays of this module
_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")


@dataclass(slots=True)
class MetricScores:
    """The scores of one metric in one group."""

    direction: Direction
    statuses: Counter[str] = field(default_factory=Counter)
    values: "array[float]" = field(default_factory=lambda: array("d"))
    raws: "array[float] | None" = None
    """None as long as every raw number equals its value."""
    cases: "array[int]" = field(default_factory=lambda: array("Q"))
    passes: "array[int]" = field(default_factory=lambda: array("b"))
    passing_cases: "array[int]" = field(default_factory=lambda: array("Q"))
    on_failed_outputs: int = 0
    truths: bool = True
    """Whether every score so far was true or false."""
    choices: Counter[str] | None = field(default_factory=Counter)
    """None if the texts are too many or too long to be labels."""
    details: SteadinessCounts = field(default_factory=SteadinessCounts)
    worst: WorstScores = field(default_factory=WorstScores)
    skips: Counter[str] = field(default_factory=Counter)
    """How often scores were skipped, for the first few reasons."""

    def add(self, score: Score, trial: Trial) -> None:
        case = trial.position
        self.statuses[score.status] += 1
        if score.detail:
            self.details.add(score, case)
        if score.passed is not None:
            self.passes.append(score.passed)
            self.passing_cases.append(case)
        if score.status != "scored":
            return
        # errors and skipped scores do not know the direction
        self.direction = score.direction
        value = finite_number(score.value)
        raw = value if score.raw is score.value else finite_number(score.raw)
        if self.raws is None and raw != value and not (math.isnan(raw) and math.isnan(value)):
            self.raws = array("d", self.values)
        self.values.append(value)
        self.cases.append(case)
        if self.raws is not None:
            self.raws.append(raw)
        self.truths = self.truths and isinstance(score.raw, bool)
        self._choose(score.raw)
        self.worst.add(score, trial, raw if math.isnan(value) else value)

    def skip(self, reason: str) -> None:
        """Count a skipped score of an output without error."""
        if reason in self.skips or len(self.skips) < SKIP_REASONS:
            self.skips[reason] += 1

    def _choose(self, said: object) -> None:
        if self.choices is None or not isinstance(said, str):
            return
        self.choices[said[: _LONGEST + 1]] += 1
        if len(said) > _LONGEST or len(self.choices) > CHOICES:
            self.choices = None


def finite_number(value: object) -> float:
    """Return a finite number as a float; NaN for anything else."""
    if not isinstance(value, (int, float)):
        return _UNKNOWN
    try:
        found = float(value)
    except OverflowError:
        return _UNKNOWN
    return found if math.isfinite(found) else _UNKNOWN


def metric_summary(
    metric: Metric, scores: MetricScores, *, unanswered: int, repeated: bool, level: float
) -> MetricSummary:
    """Compute the summary of a metric; `unanswered` counts trials of the group without an output."""
    raws = scores.values if scores.raws is None else scores.raws
    scale, column = _column(scores.values, raws)
    known_places = [not math.isnan(value) for value in column]
    values = array("d", compress(column, known_places))
    cases = array("Q", compress(scores.cases, known_places)) if repeated else None
    known_raws = [raw for raw in raws if not math.isnan(raw)] if _in_own_unit(metric, scores, scale) else []
    bounded = scale == "value" and all(0 <= value <= 1 for value in values)
    low, high = (0.0, 1.0) if bounded or not values else (min(values), max(values))
    status, centre, raw_mean = scores.statuses, mean(values), mean(known_raws)
    interval = mean_interval(values, level, clusters=cases, bounded=bounded)
    return MetricSummary(
        name=metric.name,
        direction=scores.direction if status["scored"] else metric.direction,
        threshold=metric.threshold,
        scored=status["scored"],
        unscored=status["unscored"],
        errors=status["error"],
        skipped=status["skipped"],
        missing=status["unscored"] + status["error"] + unanswered - scores.on_failed_outputs,
        scale=scale,
        unit=(metric.unit or "raw") if scale == "raw" else "",
        n=len(values),
        mean=centre,
        interval=interval,
        raw_mean=raw_mean,
        raw_unit=(metric.unit or "raw") if known_raws else "",
        raw_interval=_on_scale(metric.unit, centre, raw_mean, interval),
        truths=scores.truths and scale == "value",
        choices=_choices(scores),
        bins=_bins(values, low, high),
        low=low,
        high=high,
        pass_rate=share(scores.passes, scores.passing_cases if repeated else None, level),
        judge=metric.judge,
        base=metric.base,
        steadiness=scores.details.steadiness(repeated, level),
        worst=scores.worst.in_order(),
        skip_reasons=dict(scores.skips.most_common()),
    )


def _column(values: "array[float]", raws: "array[float]") -> tuple[Literal["value", "raw"] | None, "array[float]"]:
    """Return the values if all scores have one, otherwise the raw numbers; a mean over part of the values would mislead."""
    with_value = len(values) - sum(map(math.isnan, values))
    with_raw = len(raws) - sum(map(math.isnan, raws))
    if not with_value and not with_raw:
        return None, values
    return ("value", values) if with_value >= with_raw else ("raw", raws)


def _in_own_unit(metric: Metric, scores: MetricScores, scale: str | None) -> bool:
    """Return whether raw numbers add information: they differ from the values, or are all at the 0 of their scale."""
    if scale != "value" or scores.truths:
        return False
    ends = scale_ends(metric.unit)
    return scores.raws is not None or (ends is not None and ends[0] == 0 < ends[1] != 1 and not any(scores.values))


def _choices(scores: MetricScores) -> Mapping[str, int]:
    return dict(sorted((scores.choices or {}).items()))


@check_arguments
def scale_ends(unit: str) -> tuple[float, float] | None:
    """Return the ends of a scale that a unit names; None if it names none.

    >>> scale_ends("1..5"), scale_ends("%"), scale_ends("cosine")
    ((1.0, 5.0), (0.0, 100.0), None)
    """
    if unit == "%":
        return 0.0, 100.0
    found = _SCALE.fullmatch(unit)
    return (float(found[1]), float(found[2])) if found and float(found[1]) < float(found[2]) else None


def _on_scale(unit: str, centre: float | None, raw_mean: float | None, found: Interval) -> Interval | None:
    """Convert the interval of a mean to the unit of its scale, if the values are positions on that scale."""
    ends = scale_ends(unit)
    if ends is None or centre is None or raw_mean is None:
        return None
    low, width = ends[0], ends[1] - ends[0]
    if abs(low + centre * width - raw_mean) > 1e-6 * width:
        return None
    if found.low is None or found.high is None:
        return found
    return Interval(low=low + found.low * width, high=low + found.high * width, level=found.level, method=found.method)


def _bins(values: Sequence[float], low: float, high: float) -> tuple[int, ...]:
    if not values:
        return ()
    counts = [0] * BINS
    width = high / BINS - low / BINS  # divided first, since the difference of two large numbers can be infinite
    for value in values:
        place = (value / width - low / width) if width else 0
        counts[min(BINS - 1, max(0, int(place)))] += 1
    return tuple(counts)
