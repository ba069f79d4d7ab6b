"""Metrics that several judges share, and their mean, output by output."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from evalmark.core.values.run import Metric
from evalmark.core.values.score import Score


def metrics_with_several_judges(metrics: Iterable[Metric]) -> Mapping[str, tuple[Metric, ...]]:
    """The metrics of each base that more than one judge has; datasets may have metrics of one name."""
    found: dict[str, list[Metric]] = {}
    for metric in {metric.name: metric for metric in metrics}.values():
        if metric.base:
            found.setdefault(metric.base, []).append(metric)
    return {base: tuple(several) for base, several in found.items() if len(several) > 1}


def mean_metric(several: Sequence[Metric]) -> Metric:
    """What the mean of several judges is called, and in which unit it is.

    >>> judges = [Metric(name=f"kind [{judge}]", judge=judge, base="kind", unit="%") for judge in "ab"]
    >>> mean_metric(judges).name
    'kind [mean of 2 judges]'
    """
    first = several[0]
    return Metric(name=f"{first.base} [mean of {len(several)} judges]", direction=first.direction, unit=first.unit)


def mean_scores(scores: Sequence[Score], judges: Mapping[str, Sequence[Metric]]) -> Iterator[Score]:
    """The mean of what all judges of a metric say of one output; unscored where one of them says nothing.

    `judges` holds the metrics by their bases. Where none of them was asked, nothing comes; neither does where they say
    names, of which there is no mean.
    """
    by_name = {score.name: score for score in scores}
    for several in judges.values():
        said = [score for metric in several if (score := by_name.get(metric.name)) is not None]
        if not said:
            continue
        found = Score(name=mean_metric(several).name, direction=said[0].direction)
        values = [score.value for score in said if score.status == "scored" and score.value is not None]
        if len(values) < len(several):
            if any(score.status in ("unscored", "error") for score in said):
                yield replace(found, status="unscored", reason="not every judge gave a score")
            continue
        raws = [score.raw for score in said if isinstance(score.raw, (int, float)) and not isinstance(score.raw, bool)]
        value = math.fsum(values) / len(values)
        yield replace(found, value=value, raw=math.fsum(raws) / len(raws) if len(raws) == len(values) else value)
