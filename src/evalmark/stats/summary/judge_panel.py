"""Compares several judges of one metric on outputs that at least two of them scored, and averages their scores."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from evalmark.core.lazy import LazyModule
from evalmark.core.values.plain_data import finite_number
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Score
from evalmark.stats.inference.intervals import LEVEL, Interval
from evalmark.stats.inference.means import mean, mean_interval, share

from .summary import JudgeAgreement, JudgePair

if TYPE_CHECKING:
    from evalmark.stats.agreement import kappa_alpha
else:
    kappa_alpha = LazyModule("evalmark.stats.agreement.kappa_alpha")

_NAMED = 2.0**40
"""Labels are stored as numbers from here on, above any score."""
_LONGEST = 100
_LARGEST = 1e100
"""Larger numbers are left out, because their squares overflow."""


def number_or_nan(value: object) -> float:
    """Return a finite number as a float; NaN for anything else."""
    return math.nan if (number := finite_number(value)) is None else number


class JudgePanel:
    """The judges of one metric."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.base = metrics[0].base
        self.judges = _labels(metrics)
        self._unit = next((metric.unit for metric in metrics if metric.unit), "")
        self._place = {metric.name: place for place, metric in enumerate(metrics)}
        self._scores = [array("d") for _ in metrics]
        self._values = [array("d") for _ in metrics]
        self._cases = array("Q")
        self._choices: dict[str, float] = {}
        self._numbers = self._fractions = False

    def add(self, scores: Iterable[Score], case: int) -> None:
        """Add the scores of one output, if at least two judges scored it."""
        scored = {self._place[s.name]: s for s in scores if s.status == "scored" and s.name in self._place}
        numbers = {place: self._read(score) for place, score in scored.items()}
        if sum(not math.isnan(x) for x in numbers.values()) < 2:
            return
        self._cases.append(case)
        for place in self._place.values():
            self._scores[place].append(numbers.get(place, math.nan))
            self._values[place].append(number_or_nan(scored[place].value) if place in scored else math.nan)

    def _read(self, score: Score) -> float:
        """Return a score as a number; labels are numbered in the order of their occurrence."""
        if isinstance(score.raw, str):
            return self._choices.setdefault(score.raw[:_LONGEST], _NAMED + len(self._choices))
        number = number_or_nan(score.value if finite_number(score.raw) is None else score.raw)
        if abs(number) > _LARGEST:
            return math.nan
        self._numbers = self._numbers or not isinstance(score.raw, bool)
        self._fractions = self._fractions or (math.isfinite(number) and not number.is_integer())
        return number

    @property
    def _level(self) -> Literal["nominal", "ordinal", "interval"]:
        if self._choices or not self._numbers:
            return "nominal"
        return "interval" if self._fractions else "ordinal"

    def agreement(self, level: float = LEVEL) -> JudgeAgreement:
        """Compute the agreement of the judges."""
        alpha, interval = self._alpha(level) if len(self.judges) > 2 else (None, None)
        common, prevalence = self._most_common()
        return JudgeAgreement(
            base=self.base,
            judges=self.judges,
            level=self._level,
            unit=self._unit if self._numbers and not self._choices else "",
            n=len(self._cases),
            pairs=tuple(pair for two in combinations(range(len(self.judges)), 2) if (pair := self._pair(two, level))),
            alpha=alpha,
            interval=interval,
            most_common=common,
            prevalence=prevalence,
            mean=mean(means := self._means()),
            mean_interval=mean_interval(
                means, level, clusters=_clusters(self._cases), bounded=all(0 <= value <= 1 for value in means)
            ),
        )

    def _means(self) -> list[float]:
        """Return the mean over the judges for each output; empty if an output has no value."""
        rows = [[x for x in row if not math.isnan(x)] for row in zip(*self._values, strict=True)]
        return [math.fsum(row) / len(row) for row in rows] if all(rows) else []

    def _alpha(self, level: float) -> tuple[float | None, Interval]:
        units = [[x for x in row if not math.isnan(x)] for row in zip(*self._scores, strict=True)]
        return kappa_alpha.alpha_with_interval(units, self._level, clusters=_clusters(self._cases), confidence=level)

    def _pair(self, two: tuple[int, int], level: float) -> JudgePair | None:
        first, second, cases = _both(self._scores[two[0]], self._scores[two[1]], self._cases)
        if not cases:
            return None
        clusters, weighted = _clusters(cases), self._level != "nominal"
        numbers = self._values if self._choices else self._scores
        low, high, places = _both(numbers[two[0]], numbers[two[1]], self._cases)
        apart = [b - a for a, b in zip(low, high, strict=True)]
        kappa, interval = kappa_alpha.kappa_with_interval(
            first, second, weighted=weighted, clusters=clusters, level=level
        )
        return JudgePair(
            judges=(self.judges[two[0]], self.judges[two[1]]),
            same=share([int(a == b) for a, b in zip(first, second, strict=True)], clusters, level),
            kappa=kappa,
            interval=interval,
            difference=mean(apart),
            difference_interval=mean_interval(apart, level, clusters=_clusters(places), bounded=False),
        )

    def _most_common(self) -> tuple[str, float | None]:
        counts = Counter(x for judge in self._scores for x in judge if not math.isnan(x))
        if self._level == "interval" or not counts:
            return "", None
        number, times = min(counts.items(), key=lambda item: (-item[1], item[0]))
        names = {code: name for name, code in self._choices.items()}
        word = f"{number:g}" if self._numbers else str(bool(number)).lower()
        return names.get(number, word), times / counts.total()


def judge_panels(metrics: Iterable[Metric]) -> tuple[JudgePanel, ...]:
    """Create a panel for each metric with several judges."""
    return tuple(JudgePanel(several) for several in metrics_with_several_judges(metrics).values())


def _labels(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Name the judges by their models, or by their metrics if a model judges twice."""
    judges = tuple(metric.judge or metric.name for metric in metrics)
    return judges if len(set(judges)) == len(judges) else tuple(metric.name for metric in metrics)


def _both(
    first: Sequence[float], second: Sequence[float], cases: Sequence[int]
) -> tuple[list[float], list[float], list[int]]:
    rows = [row for row in zip(first, second, cases, strict=True) if not (math.isnan(row[0]) or math.isnan(row[1]))]
    return [a for a, _, _ in rows], [b for _, b, _ in rows], [case for _, _, case in rows]


def _clusters(cases: Sequence[int]) -> Sequence[int] | None:
    """Return the case of each output; None if no case occurs twice."""
    return None if len(set(cases)) == len(cases) else cases


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
