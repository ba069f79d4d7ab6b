"""Finds means that miss the gate, and the trials furthest below them."""

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from operator import itemgetter

from evalmark.core.values.run import Gate, Metric
from evalmark.core.values.score import Direction, Result, Score

from .summary import SummaryGroup, TrialCounts

SLACK = 1e-9
"""The tolerance for rounding errors."""


def mean_reaches(value: float, needed: float, *, lower: bool) -> bool:
    """Return whether a mean is at least the required value, or at most, if lower is better."""
    return value <= needed + SLACK if lower else value >= needed - SLACK


def missed_means(groups: Iterable[SummaryGroup], gate: Gate) -> tuple[str, ...]:
    """Return the metrics whose mean misses the gate, in the order of the gate."""
    counted = [group for group in groups if not group.left_out]
    return tuple(dict.fromkeys((*_missed(counted, gate.thresholds), *_missed_least(counted, gate.min_score))))


def _missed(groups: Sequence[SummaryGroup], thresholds: Mapping[str, float]) -> Iterator[str]:
    targets = dict.fromkeys(group.target for group in groups)
    for (wanted, needed), target in product(thresholds.items(), targets):
        parts = [m for g in groups if g.target == target for m in g.metrics if wanted in (m.name, m.base)]
        for name in dict.fromkeys(m.name for m in parts):
            known = [(m, m.mean) for m in parts if m.name == name and m.mean is not None]
            n = sum(m.n for m, _ in known)
            found = math.fsum(value * m.n for m, value in known) / n if n else None
            if found is not None and not mean_reaches(found, needed, lower=_lower(known[0][0].direction)):
                yield name


def _missed_least(groups: Sequence[SummaryGroup], needed: float | None) -> Iterator[str]:
    for group in groups if needed is not None else ():
        for metric in group.metrics:
            if metric.mean is None or metric.scale != "value" or _lower(metric.direction):
                continue
            if not mean_reaches(metric.mean, needed or 0.0, lower=False):
                yield metric.name


def _lower(direction: Direction) -> bool:
    return direction == "lower"


def misses_pass_rate(total: TrialCounts, gate: Gate) -> bool:
    """Return whether fewer trials pass than the gate requires."""
    if gate.min_pass_rate is None:
        return total.failed > 0
    judged = total.passed + total.failed
    return bool(judged) and total.passed / judged < gate.min_pass_rate


@dataclass(slots=True)
class TrialsBelowMeans:
    """Collects the trials furthest below each mean that the gate requires."""

    gate: Gate
    bases: Mapping[str, str]
    limit: int
    seen: int = 0
    heaps: dict[str, list[tuple[float, int, Result]]] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Add a trial."""
        self.seen += 1
        if not self.limit or (self.gate.min_score is None and not self.gate.thresholds):
            return
        for score in result.scores:
            short = self._short(score)
            if short is None or short <= SLACK:
                continue
            heap = self.heaps.setdefault(score.name, [])
            entry = (short, -self.seen, result)
            if len(heap) < self.limit:
                heapq.heappush(heap, entry)
            else:
                heapq.heappushpop(heap, entry)

    def _short(self, score: Score) -> float | None:
        """Return how much worse a score is than the required mean of its metric; None if none is required."""
        number = score.raw if score.value is None else score.value
        if score.status != "scored" or not isinstance(number, (int, float)):
            return None
        limits = self.gate.thresholds
        needed = limits.get(score.name, limits.get(self.bases.get(score.name, ""), None))
        if needed is None and score.direction == "higher" and score.value is not None:
            needed = self.gate.min_score
        if needed is None:
            return None
        return number - needed if score.direction == "lower" else needed - number

    def furthest(self, names: Iterable[str]) -> list[tuple[int, Result]]:
        """Return numbered trials below the means of some metrics, for each metric the furthest below first."""
        ordered = (sorted(self.heaps.get(name, ()), key=itemgetter(0, 1), reverse=True) for name in names)
        return [(-seen, result) for heap in ordered for _, seen, result in heap]


def below_means(gate: Gate | None, metrics: Iterable[Metric], limit: int) -> TrialsBelowMeans:
    """Create the collector for a gate."""
    return TrialsBelowMeans(gate or Gate(), {metric.name: metric.base for metric in metrics if metric.base}, limit)


def first_to_review(
    worst: Sequence[tuple[int, Result]], below: Sequence[tuple[int, Result]], *, trials_decide: bool
) -> list[Result]:
    """Return the trials to review first: those below a missed mean, unless failed trials already fail the gate."""
    rest = [one for one in worst if one[1].verdict == "ungated"]
    failed = [one for one in worst if one[1].verdict != "ungated"]
    order = (failed, below, rest) if trials_decide else (below, failed, rest)
    return list({number: result for part in order for number, result in part}.values())
