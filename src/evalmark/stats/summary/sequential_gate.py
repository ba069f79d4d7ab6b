"""Decides during a run what its gate would say about all cases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Literal

from evalmark.core.values.run import Gate, Metric
from evalmark.core.values.score import Result
from evalmark.stats.inference.intervals import LEVEL

from .collection import left_out
from .criteria import AllTrialsPass, Criterion, CriterionFactory, MetricColumn, MetricMean, PassRate, RequiredMean


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """The complete run that is planned."""

    sizes: Mapping[str, int]
    """The number of counting cases of each dataset."""
    metrics: Sequence[Metric]
    targets: Sequence[str]
    repeat: int = 1

    @property
    def cases(self) -> int:
        """All counting cases."""
        return sum(self.sizes.values())


class SequentialGate:
    """Decides pass or fail as soon as the gate is decided for all cases, checking after every case.

    Cases have to be added in the random order of the run, each with all its trials. The probability that the
    complete run would get another verdict is at most 1 - level; each of k criteria is tested at 1 - (1 -
    level)/k. A pass is decided once all criteria are met, and errors and unscored trials do not exceed the gate's
    limits; a failure, as soon as one criterion is missed. `more` adds criteria, for example a comparison with a
    baseline.
    """

    def __init__(
        self, gate: Gate | None, whole: PlannedRun, level: float = LEVEL, more: Sequence[CriterionFactory] = ()
    ) -> None:
        self._gate = gate or Gate()
        made = [*_criteria(self._gate, whole), *more]
        each = 1 - (1 - level) / max(1, len(made))
        every = [AllTrialsPass()] if self._gate.min_pass_rate is None else []
        self._bars: list[Criterion] = [*every, *(make(each) for make in made)]
        self._errors = self._unscored = 0
        self.level, self.cases = level, whole.cases
        self.after = 0
        """Counting cases so far."""
        self.outcome: Literal["pass", "fail"] | None = None
        """Does not change once it is known."""
        self.reason = ""

    def add(self, results: Sequence[Result]) -> None:
        """Add all trials of the next case; a case that does not count for the headline is ignored."""
        if self.outcome is not None or not results or left_out(results[0].trial.case) is not None:
            return
        self.after += 1
        verdicts = [result.verdict for result in results]
        self._errors += verdicts.count("error")
        self._unscored += verdicts.count("unscored")
        for bar in self._bars:
            bar.add(results)
        self._decide()

    def _decide(self) -> None:
        missed = [bar.description for bar in self._bars if bar.is_met is False]
        complete = self._errors <= self._gate.max_errors and self._unscored <= self._gate.max_unscored
        descriptions = [description for bar in self._bars if (description := bar.description)]
        if missed:
            self.outcome = "fail"
        elif complete and descriptions and self._has_a_mean() and all(bar.is_met for bar in self._bars):
            self.outcome = "pass"
        else:
            return
        text = "; ".join(missed or descriptions)
        self.reason = f"Decided after {self.after:,} of {self.cases:,} cases: {text}."

    def _has_a_mean(self) -> bool:
        """Return whether `min_score` applies to any mean; without one, the gate cannot tell."""
        means = (bar for bar in self._bars if isinstance(bar, MetricMean) and bar.is_of_every_metric)
        return self._gate.min_score is None or any(bar.description for bar in means)


def _criteria(gate: Gate, whole: PlannedRun) -> Iterator[CriterionFactory]:
    """Yield factories for all criteria of the gate."""
    if not whole.cases:
        return
    if gate.min_pass_rate is not None:
        yield partial(PassRate, gate.min_pass_rate, whole.cases, whole.repeat * len(whole.targets))
    for wanted, needed in gate.thresholds.items():
        metrics = [metric for metric in whole.metrics if wanted in (metric.name, metric.base)]
        for metric, target in product(metrics, whole.targets):
            where = f" on {target}" if len(whole.targets) > 1 else ""
            column = MetricColumn(metric=metric, target=target, trials=whole.repeat)
            yield _mean_of(column, f"the mean of {metric.name}{where}", needed, whole.cases)
    if gate.min_score is None:
        return
    for (dataset, size), target, metric in product(whole.sizes.items(), whole.targets, whole.metrics):
        if size and metric.direction == "higher":
            where = f" in {dataset}" if len(whole.sizes) > 1 else ""
            where += f" on {target}" if len(whole.targets) > 1 else ""
            column = MetricColumn(metric=metric, target=target, dataset=dataset, trials=whole.repeat, of_every=True)
            yield _mean_of(column, f"the mean of {metric.name}{where}", gate.min_score, size)


def _mean_of(column: MetricColumn, what: str, needed: float, size: int) -> CriterionFactory:
    return partial(
        MetricMean, column, RequiredMean(what=what, needed=needed, size=size, direction=column.metric.direction)
    )
