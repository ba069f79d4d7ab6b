"""Averages the scores of several judges of one metric, output by output."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from evalmark.core.values.run import Metric
from evalmark.core.values.score import Score


def metrics_with_several_judges(metrics: Iterable[Metric]) -> Mapping[str, tuple[Metric, ...]]:
    """Return the metrics of each base name that has more than one judge."""
    found: dict[str, list[Metric]] = {}
    for metric in {metric.name: metric for metric in metrics}.values():
        if metric.base:
            found.setdefault(metric.base, []).append(metric)
    return {base: tuple(several) for base, several in found.items() if len(several) > 1}


def mean_metric(several: Sequence[Metric]) -> Metric:
    """Return the metric for the mean of several judges.

    >>> judges = [Metric(name=f"kind [{judge}]", judge=judge, base="kind", unit="%") for judge in "ab"]
    >>> mean_metric(judges).name
    'kind [mean of 2 judges]'
    """
    first = several[0]
    return Metric(name=f"{first.base} [mean of {len(several)} judges]", direction=first.direction, unit=first.unit)


def mean_scores(scores: Sequence[Score], judges: Mapping[str, Sequence[Metric]]) -> Iterator[Score]:
    """Yield the mean score of all judges of a metric; unscored if one of them gave no score.

    `judges` maps base names to metrics. Nothing is yielded if no judge was called, or if the judges return labels.
    """
    by_name = {score.name: score for score in scores}
    for several in judges.values():
        judged = [score for metric in several if (score := by_name.get(metric.name)) is not None]
        if not judged:
            continue
        mean = Score(name=mean_metric(several).name, direction=judged[0].direction)
        values = [score.value for score in judged if score.status == "scored" and score.value is not None]
        if len(values) < len(several):
            if any(score.status in ("unscored", "error") for score in judged):
                yield replace(mean, status="unscored", reason="not every judge gave a score")
            continue
        raws = [
            score.raw for score in judged if isinstance(score.raw, (int, float)) and not isinstance(score.raw, bool)
        ]
        value = math.fsum(values) / len(values)
        yield replace(mean, value=value, raw=math.fsum(raws) / len(raws) if len(raws) == len(values) else value)
