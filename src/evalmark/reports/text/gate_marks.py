"""How the gate used each metric: the mean that it required, and which metrics made a run fail."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from evalmark.core.values.run import Gate
from evalmark.stats.summary.gate import GateVerdict
from evalmark.stats.summary.missed_means import misses_pass_rate
from evalmark.stats.summary.summary import MetricSummary, Summary


class GateMark(NamedTuple):
    """A metric as the gate saw it."""

    needed: float | None
    """The mean that the gate requires; None if it requires none."""
    failed: int
    """Trials that failed this metric, where failed trials made the gate fail; else 0."""
    decided: bool
    """Whether this metric made the gate fail: its mean missed it, or most failed trials failed this metric."""


def gate_marks(summary: Summary, gate: Gate | None, verdict: GateVerdict) -> Mapping[str, GateMark]:
    """Return the mark of each metric that counts for the gate."""
    gate = gate or Gate()
    failures = dict(_failures(summary)) if trials_decided(summary, gate, verdict) else {}
    most = max(failures.values(), default=0)
    is_missed = frozenset(summary.missed) if verdict.outcome == "fail" else frozenset()
    return {
        metric.name: GateMark(
            needed=needed_mean(metric, gate),
            failed=(failed := failures.get(metric.name, 0)),
            decided=metric.name in is_missed or 0 < failed == most,
        )
        for group in summary.counted
        for metric in group.metrics
    }


def trials_decided(summary: Summary, gate: Gate | None, verdict: GateVerdict) -> bool:
    """Return whether the gate failed because too few trials passed."""
    return verdict.gated and verdict.outcome == "fail" and misses_pass_rate(summary.total, gate or Gate())


def failures_text(marks: Mapping[str, GateMark]) -> str:
    """Say which metrics the failed trials failed; empty if failed trials did not decide, or there is only one metric.

    >>> failures_text({"exact": GateMark(None, 8, False), "polite": GateMark(None, 17, True)})
    'Most failures: polite 17, exact 8.'
    """
    failed = sorted(((mark.failed, name) for name, mark in marks.items() if mark.failed), key=lambda one: -one[0])
    if not failed or len(marks) == 1:
        return ""
    shown = ", ".join(f"{name} {n:,}" for n, name in failed[:3])
    return f"Most failures: {shown}."


def _failures(summary: Summary) -> Iterator[tuple[str, int]]:
    """Count for each metric the trials that failed it."""
    totals: dict[str, int] = {}
    for group in summary.counted:
        for metric in group.metrics:
            totals[metric.name] = totals.get(metric.name, 0) + metric.pass_rate.n - metric.pass_rate.passed
    yield from totals.items()


def needed_mean(metric: MetricSummary, gate: Gate | None) -> float | None:
    """Return the mean of a metric that a gate requires; None if it requires none."""
    gate = gate or Gate()
    for name in (metric.name, metric.base):
        if name and name in gate.thresholds:
            return gate.thresholds[name]
    return gate.min_score if metric.direction == "higher" and metric.scale == "value" else None
