"""Finds figures that miss the gate."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from evalmark.core.values.run import Gate
from evalmark.core.values.score import Direction

from .collection import SLACK
from .summary import SummaryGroup, TrialCounts


def mean_reaches(value: float, needed: float, *, lower: bool) -> bool:
    """Return whether a mean is at least the required value, or at most, if lower is better."""
    return value <= needed + SLACK if lower else value >= needed - SLACK


def missed_means(groups: Iterable[SummaryGroup], gate: Gate) -> tuple[str, ...]:
    """Return the metrics whose mean misses the gate, in the order of the gate."""
    return tuple(dict.fromkeys(name for name, _ in missed_by_target(groups, gate)))


def missed_by_target(groups: Iterable[SummaryGroup], gate: Gate) -> tuple[tuple[str, str], ...]:
    """Return the metrics whose mean misses the gate, each with a target on which it does."""
    counted = [group for group in groups if not group.left_out]
    return (*_missed(counted, gate.thresholds), *_missed_least(counted, gate.min_score))


def _missed(groups: Sequence[SummaryGroup], thresholds: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    targets = dict.fromkeys(group.target for group in groups)
    for (metric, needed), target in product(thresholds.items(), targets):
        parts = [m for g in groups if g.target == target for m in g.metrics if metric in (m.name, m.base)]
        for name in dict.fromkeys(m.name for m in parts):
            means = [(m, m.mean) for m in parts if m.name == name and m.mean is not None]
            n = sum(m.n for m, _ in means)
            mean = math.fsum(value * m.n for m, value in means) / n if n else None
            if mean is not None and not mean_reaches(mean, needed, lower=_lower(means[0][0].direction)):
                yield name, target


def _missed_least(groups: Sequence[SummaryGroup], needed: float | None) -> Iterator[tuple[str, str]]:
    for group in groups if needed is not None else ():
        for metric in group.metrics:
            if metric.mean is None or metric.scale != "value" or _lower(metric.direction):
                continue
            if not mean_reaches(metric.mean, needed or 0.0, lower=False):
                yield metric.name, group.target


def _lower(direction: Direction) -> bool:
    return direction == "lower"


def misses_pass_rate(total: TrialCounts, gate: Gate) -> bool:
    """Return whether fewer trials pass than the gate requires."""
    if gate.min_pass_rate is None:
        return total.failed > 0
    judged = total.passed + total.failed
    return bool(judged) and total.passed / judged < gate.min_pass_rate
