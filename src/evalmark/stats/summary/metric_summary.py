"""Computes the summaries of metrics from their collected scores."""

import math
import re
from array import array
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Literal

from evalmark.core.values.run import Metric
from evalmark.scoring.binding.scores import TOLERANCE
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import Interval
from evalmark.stats.inference.means import mean, mean_interval, share, skewness_caution

from .collection import SLACK, MetricScores
from .summary import MetricSummary

BINS = 10
_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")


def metric_summaries(
    collected: Mapping[str, MetricScores],
    metrics: Mapping[str, Metric],
    *,
    unanswered: int,
    unit: str,
    level: float,
) -> tuple[MetricSummary, ...]:
    """Compute the summaries of all metrics of a group, those of the run first, in its order.

    Args:
        collected: The scores of the group by metric.
        metrics: The metrics of the run by name.
        unanswered: Trials of the group without an output.
        unit: What is called a cluster of trials whose scores depend on each other; empty if each trial is independent.
        level: The confidence level (0 to 1).
    """
    names = [*(name for name in metrics if name in collected), *(name for name in collected if name not in metrics)]
    return tuple(
        _metric_summary(
            metrics.get(name) or Metric(name=name),
            collected[name],
            unanswered=unanswered,
            unit=unit,
            level=level,
        )
        for name in names
    )


def _metric_summary(metric: Metric, scores: MetricScores, *, unanswered: int, unit: str, level: float) -> MetricSummary:
    raws = scores.values if scores.raws is None else scores.raws
    scale, column = _column(scores.values, raws)
    known_places = [not math.isnan(value) for value in column]
    values = array("d", compress(column, known_places))
    clusters = array("Q", compress(scores.clusters, known_places)) if unit else None
    known_raws = [raw for raw in raws if not math.isnan(raw)] if _in_own_unit(metric, scores, scale) else []
    bounded = scale == "value" and all(0 <= value <= 1 for value in values)
    low, high = (0.0, 1.0) if bounded or not values else (min(values), max(values))
    status, centre, raw_mean = scores.statuses, mean(values), mean(known_raws)
    interval = mean_interval(values, level, clusters=clusters, bounded=bounded, unit=unit)
    return MetricSummary(
        name=metric.name,
        direction=scores.direction if status["scored"] else metric.direction,
        threshold=metric.threshold,
        scored=status["scored"],
        unscored=status["unscored"],
        errors=status["error"] + unanswered - scores.on_failed_outputs,
        skipped=status["skipped"],
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
        pass_rate=share(scores.passes, scores.passing_clusters if unit else None, level, unit=unit),
        judge=metric.judge,
        base=metric.base,
        steadiness=scores.details.steadiness(bool(unit), level),
        worst=scores.worst_first(),
        skip_reasons=dict(scores.skips.most_common()),
        caution="" if bounded or not interval.known else skewness_caution(values, clusters),
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
    slack = TOLERANCE / width if (low, high) == (0.0, 1.0) else SLACK  # the tolerance of thresholds and filters
    for value in values:
        position = (value / width - low / width) if width else 0
        counts[min(BINS - 1, max(0, int(position + slack)))] += 1  # 0.7 / 0.1 is 6.999999999999999
    return tuple(counts)
