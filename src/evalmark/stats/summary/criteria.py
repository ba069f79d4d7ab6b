"""The criteria of a gate, decided case by case: each is met, missed or still open."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from evalmark.core.case_titles import case_title
from evalmark.core.text import distinct_from
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Direction, Result, Score
from evalmark.stats.inference.sequential import BettingSequence

from .collection import SLACK
from .metric_summary import scale_ends


class Criterion(Protocol):
    """One criterion of a gate."""

    def add(self, results: Sequence[Result]) -> None:
        """Add all trials of the next case, in the random order of the run."""

    @property
    def is_met(self) -> bool | None:
        """Whether the complete run would meet the criterion; None while that is open."""

    @property
    def description(self) -> str:
        """What is known about the complete run, as part of a sentence."""


CriterionFactory = Callable[[float], Criterion]
"""Creates a criterion at a confidence level; several criteria share the error probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredMean:
    """A mean over all cases of the run, and the value that it has to reach."""

    what: str
    needed: float
    size: int
    """The number of cases of the complete run."""
    direction: Direction = "higher"
    bounds: tuple[float, float] = (0.0, 1.0)


class MeanBounds:
    """Two sequential intervals for one mean: with all missing values at their worst, and at their best."""

    def __init__(self, reach: RequiredMean, level: float) -> None:
        self._reach, self._level = reach, level
        self._worst = self._best = BettingSequence(level, reach.bounds, size=reach.size)
        self._taken: list[float] = []

    def add(self, worst: float, best: float) -> None:
        """Add the lowest and the highest value that a case can have, in the direction of the metric."""
        low, high = self._reach.bounds
        worst, best = min(max(worst, low), high), min(max(best, low), high)
        if self._worst is self._best and worst != best:  # one interval is enough until the two values differ
            self._best = BettingSequence(self._level, self._reach.bounds, size=self._reach.size)
            for value in self._taken:
                self._best.add(value)
        self._worst.add(worst)
        if self._best is not self._worst:
            self._best.add(best)
        else:
            self._taken.append(worst)

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds of the mean."""
        found = (self._worst, self._best) if self._reach.direction == "higher" else (self._best, self._worst)
        return found[0].low, found[1].high

    @property
    def is_met(self) -> bool | None:
        """Whether the mean reaches the required value."""
        (low, high), needed = self.ends, self._reach.needed
        if self._reach.direction == "higher":
            return True if low >= needed - SLACK else False if high < needed - SLACK else None
        return True if high <= needed + SLACK else False if low > needed + SLACK else None

    @property
    def description(self) -> str:
        (low, high), reach = self.ends, self._reach
        limit = {
            ("higher", True): "at least",
            ("higher", False): "less than",
            ("lower", True): "at most",
            ("lower", False): "more than",
        }
        verdict = "" if self.is_met is None else f", {limit[reach.direction, self.is_met]} {reach.needed:g}"
        ends = " to ".join(distinct_from(end, [reach.needed], _digits, 3) for end in (low, high))
        return f"{reach.what} is from {ends} ({100 * self._level:z.3g} % sure){verdict}"


class PassRate:
    """The pass rate of the scored trials.

    Every case has `trials` places. One without a verdict counts as the required rate, which moves the mean in
    neither direction. An error or an unscored trial counts as failed when deciding a pass, and as passed when
    deciding a failure.
    """

    def __init__(self, needed: float, size: int, trials: int, level: float) -> None:
        self._between = MeanBounds(RequiredMean(what="the pass rate of all of them", needed=needed, size=size), level)
        self._needed, self._trials, self._judged = needed, trials, 0

    def add(self, results: Sequence[Result]) -> None:
        verdicts = [result.verdict for result in results]
        passed, failed = verdicts.count("pass"), verdicts.count("fail")
        missing = verdicts.count("error") + verdicts.count("unscored")
        open_places = (self._trials - passed - failed - missing) * self._needed
        self._judged += passed + failed
        self._between.add((passed + open_places) / self._trials, (passed + missing + open_places) / self._trials)

    @property
    def is_met(self) -> bool | None:
        return self._between.is_met if self._judged else None

    @property
    def description(self) -> str:
        return self._between.description


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricColumn:
    """The scores of one metric on one target, in one dataset or in all."""

    metric: Metric
    target: str
    dataset: str | None = None
    """None: all datasets."""
    trials: int = 1
    """The largest number of scores of a case."""
    of_every: bool = False
    """Whether the criterion applies to every metric, so that metrics with labels or their own unit are exempt."""


class MetricMean:
    """The mean of a metric. Skipped scores count as the required mean, missing ones as in `PassRate`."""

    def __init__(self, column: MetricColumn, reach: RequiredMean, level: float) -> None:
        self._column, self._reach, self._between = column, reach, MeanBounds(reach, level)
        self._numbers = self._missing = self._names = 0
        self._unbounded = False

    def add(self, results: Sequence[Result]) -> None:
        column = self._column
        if not any(column.dataset in (None, result.trial.dataset) for result in results):
            return
        here = [result for result in results if result.trial.target == column.target]
        total, counted, missing = 0.0, 0, 0
        for result in here:
            score = next((score for score in result.scores if score.name == column.metric.name), None)
            value = None if score is None else self._value(score)
            total, counted = total + (value or 0.0), counted + (value is not None)
            missing += _is_missing(result, score)
        self._numbers, self._missing = self._numbers + counted, self._missing + missing
        low = total + (column.trials - counted - missing) * self._reach.needed
        ends = low / column.trials, (low + missing) / column.trials
        worst, best = ends if self._reach.direction == "higher" else (ends[1], ends[0])
        self._between.add(worst, best)

    @property
    def is_of_every_metric(self) -> bool:
        """Whether the criterion is one of those for the means of all metrics."""
        return self._column.of_every

    def _value(self, score: Score) -> float | None:
        """Return the value if it lies between 0 and 1; other numbers have no bounds."""
        if score.status != "scored":
            return None
        if score.value is not None and 0 <= score.value <= 1:
            return score.value
        self._names += score.value is None and not isinstance(score.raw, int | float)
        self._unbounded = self._unbounded or score.value is not None or isinstance(score.raw, int | float)
        return None

    @property
    def is_met(self) -> bool | None:
        column = self._column
        if self._unbounded:
            own_unit = column.metric.unit not in ("", "raw") and scale_ends(column.metric.unit) is None
            return True if column.of_every and own_unit and not self._numbers else None
        if column.of_every and self._names and not self._numbers + self._missing:
            return True
        return self._between.is_met if self._numbers else None

    @property
    def description(self) -> str:
        return self._between.description if self._numbers else ""


def _is_missing(result: Result, score: Score | None) -> bool:
    if score is None:
        return result.output.error is not None
    return score.status in ("unscored", "error")


class AllTrialsPass:
    """No trial may fail: missed at the first failure, otherwise open until the end.

    The criterion is met if every score so far was a number that can neither pass nor fail. A skipped score might
    pass or fail in other cases.
    """

    def __init__(self) -> None:
        self._gated = self._ungated = 0
        self._failed = ""

    def add(self, results: Sequence[Result]) -> None:
        for result in results:
            verdict = result.verdict
            free = verdict == "ungated" and bool(result.scores) and all(s.status == "scored" for s in result.scores)
            self._ungated += free
            self._gated += verdict in ("pass", "ungated") and not free
            if verdict == "fail":
                case = result.trial.case
                self._failed = self._failed or case_title(case.id, case.input, result.trial.position)

    @property
    def is_met(self) -> bool | None:
        return False if self._failed else True if self._ungated and not self._gated else None

    @property
    def description(self) -> str:
        return f"{self._failed!r} failed, and every trial has to pass" if self._failed else ""


class NotWorse:
    """The mean difference from an earlier run: missed if worse, met if better or the same.

    `earlier` holds the value from 0 to 1 of each common case, by dataset and position. `value` returns its
    present value, or None if it is missing. Differences up to `margin` count as none.
    """

    def __init__(
        self,
        earlier: Mapping[tuple[str, int], float],
        value: Callable[[Sequence[Result]], float | None],
        margin: float,
        level: float,
    ) -> None:
        reach = RequiredMean(what="the difference", needed=0, size=len(earlier), bounds=(-1.0, 1.0))
        self._earlier, self._value, self._margin, self._level = earlier, value, margin, level
        self._between = MeanBounds(reach, level)

    def add(self, results: Sequence[Result]) -> None:
        trial = results[0].trial
        before = self._earlier.get((trial.dataset, trial.position))
        if before is not None:
            now = self._value(results)
            self._between.add((0.0 if now is None else now) - before, (1.0 if now is None else now) - before)

    @property
    def outcome(self) -> str | None:
        """`worse` or `better` if the interval excludes 0, `same` if it lies within the margin; None while it is open."""
        low, high = self._between.ends
        if high < -SLACK:
            return "worse"
        if low > SLACK:
            return "better"
        return "same" if -self._margin <= low and high <= self._margin else None

    @property
    def is_met(self) -> bool | None:
        return None if self.outcome is None else self.outcome != "worse"

    @property
    def description(self) -> str:
        low, high = self._between.ends
        verdict = {"same": f", the same within {self._margin:g}", None: ""}.get(self.outcome, f", {self.outcome}")
        sure = f"{100 * self._level:z.3g} % sure"
        limits = (0.0, self._margin, -self._margin)
        ends = " to ".join(distinct_from(end, limits, _signed_digits, 3) for end in (low, high))
        return f"the difference from the baseline is from {ends} ({sure}){verdict}"


def _digits(number: float, digits: int) -> str:
    return f"{number:z.{digits}g}"


def _signed_digits(number: float, digits: int) -> str:
    return f"{number:+z.{digits}g}"
