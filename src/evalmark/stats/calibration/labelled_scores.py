"""Collects the scores of labelled outputs for each metric, without texts."""

from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from evalmark.core.values.run import Metric
from evalmark.core.values.score import Direction, Result, Score, Trial
from evalmark.stats.inference.intervals import LEVEL
from evalmark.stats.summary.clusters import case_name

from .audit import compare_verdicts, number_of, verdict_of
from .audit_results import VerdictAgreement

Truth = Callable[[Result], bool | None]
"""Whether an output is good; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSeparation:
    """How one metric scores good and bad outputs."""

    metric: Metric
    direction: Direction
    """The direction of its scores."""
    good: Sequence[float]
    """The values of good outputs."""
    bad: Sequence[float]
    good_cases: int
    """The number of cases, or clusters of cases, with a value of a good output."""
    bad_cases: int
    compared: VerdictAgreement
    """How its verdicts agree with the labels."""
    unjudged: int
    """Labelled outputs without a verdict."""


@dataclass(slots=True)
class _Column:
    direction: Direction
    good: "array[float]" = field(default_factory=lambda: array("d"))
    bad: "array[float]" = field(default_factory=lambda: array("d"))
    good_cases: set[int] = field(default_factory=set)
    bad_cases: set[int] = field(default_factory=set)
    truth: bytearray = field(default_factory=bytearray)
    judged: bytearray = field(default_factory=bytearray)
    cases: "array[int]" = field(default_factory=lambda: array("Q"))
    unjudged: int = 0


class LabelledScores:
    """Collects scores in one pass over the results. Outputs with an error are left out, as in `audit_judge`.

    Args:
        metrics: the metrics whose scores are collected.
        truth: whether an output is good.
        cluster_of: the case of a trial, or its cluster: what outputs that depend on each other share.
    """

    def __init__(
        self, metrics: Iterable[Metric], truth: Truth, cluster_of: Callable[[Trial], Hashable] = case_name
    ) -> None:
        self._metrics = {metric.name: metric for metric in metrics}
        self._truth, self._cluster_of = truth, cluster_of
        self._columns = {name: _Column(metric.direction) for name, metric in self._metrics.items()}
        self._cases: dict[Hashable, int] = {}
        self.outputs = 0
        """The number of labelled outputs."""

    def add(self, result: Result) -> None:
        """Add a result."""
        truth = None if result.output.error is not None else self._truth(result)
        if truth is None:
            return
        self.outputs += 1
        case = self._cases.setdefault(self._cluster_of(result.trial), len(self._cases))
        seen: set[str] = set()
        for score in result.scores:
            if score.name in self._columns and score.name not in seen and score.status != "skipped":
                seen.add(score.name)
                _add(self._columns[score.name], score, case, truth=truth)

    def separated(self, level: float = LEVEL) -> tuple[MetricSeparation, ...]:
        """Return the scores of each metric that has any."""
        return tuple(
            MetricSeparation(
                metric=self._metrics[name],
                direction=column.direction,
                good=column.good,
                bad=column.bad,
                good_cases=len(column.good_cases),
                bad_cases=len(column.bad_cases),
                compared=compare_verdicts([*map(bool, column.truth)], [*map(bool, column.judged)], column.cases, level),
                unjudged=column.unjudged,
            )
            for name, column in self._columns.items()
            if column.good or column.bad or column.judged
        )


def _add(column: _Column, score: Score, case: int, *, truth: bool) -> None:
    value, passed = number_of(score), verdict_of(score, None)
    if score.status == "scored":
        column.direction = score.direction
    if value is not None:
        (column.good if truth else column.bad).append(value)
        (column.good_cases if truth else column.bad_cases).add(case)
    if passed is None:
        column.unjudged += 1
        return
    column.truth.append(truth)
    column.judged.append(passed)
    column.cases.append(case)
