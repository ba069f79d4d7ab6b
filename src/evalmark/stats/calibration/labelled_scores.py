"""The scores of outputs of which it is known whether they are good, metric by metric; numbers, and nothing of texts."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from evalmark.core.values.run import Metric
from evalmark.core.values.score import Direction, Result, Score
from evalmark.stats.inference.intervals import LEVEL

from .audit import compare_verdicts, number_of, verdict_of
from .audit_results import VerdictAgreement

Truth = Callable[[Result], bool | None]
"""Whether an output is good; None where nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSeparation:
    """What one metric says of good and of bad outputs."""

    metric: Metric
    direction: Direction
    """As its scores have it."""
    good: Sequence[float]
    """The values of good outputs."""
    bad: Sequence[float]
    compared: VerdictAgreement
    """Its verdicts beside what is known, of the outputs that it passed or failed."""
    unjudged: int
    """Known outputs that it passed no verdict on."""


@dataclass(slots=True)
class _Column:
    direction: Direction
    good: "array[float]" = field(default_factory=lambda: array("d"))
    bad: "array[float]" = field(default_factory=lambda: array("d"))
    truth: bytearray = field(default_factory=bytearray)
    judged: bytearray = field(default_factory=bytearray)
    cases: "array[int]" = field(default_factory=lambda: array("Q"))
    unjudged: int = 0


class LabelledScores:
    """Gathers them in one pass over results. An output that is an error is not judged, as in `audited`."""

    def __init__(self, metrics: Iterable[Metric], truth: Truth) -> None:
        self._metrics = {metric.name: metric for metric in metrics}
        self._truth = truth
        self._columns = {name: _Column(metric.direction) for name, metric in self._metrics.items()}
        self._cases: dict[tuple[str, str], int] = {}
        self.outputs = 0
        """Of which it is known whether they are good."""

    def add(self, result: Result) -> None:
        """Take in a result."""
        truth = None if result.output.error is not None else self._truth(result)
        if truth is None:
            return
        self.outputs += 1
        trial = result.trial
        case = self._cases.setdefault((trial.dataset, trial.case.id), len(self._cases))
        seen: set[str] = set()
        for score in result.scores:
            if score.name in self._columns and score.name not in seen and score.status != "skipped":
                seen.add(score.name)
                _add(self._columns[score.name], score, case, truth=truth)

    def separated(self, level: float = LEVEL) -> tuple[MetricSeparation, ...]:
        """What each metric says of them; metrics that said nothing are left out."""
        return tuple(
            MetricSeparation(
                metric=self._metrics[name],
                direction=column.direction,
                good=column.good,
                bad=column.bad,
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
    if passed is None:
        column.unjudged += 1
        return
    column.truth.append(truth)
    column.judged.append(passed)
    column.cases.append(case)
