"""How the gate used each metric: the mean that it required, and which metrics made a run fail."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from evalmark.core.text import one_line
from evalmark.core.values.run import Gate
from evalmark.stats.summary.gate import GateVerdict, trials_fail
from evalmark.stats.summary.missed_means import mean_reaches, missed_by_target, misses_pass_rate
from evalmark.stats.summary.summary import MetricSummary, Summary, SummaryGroup

_MISSES = "mean misses the gate"


class GateMark(NamedTuple):
    """A metric as the gate saw it."""

    needed: float | None
    """The mean that the gate requires; None if it requires none."""
    failed: int
    """Trials that failed this metric, where failed trials made the gate fail; else 0."""
    is_most: bool = False
    """Whether most failed trials failed this metric."""
    missed: Collection[str] = ()
    """The targets on which its mean missed the gate; a mean is over all datasets."""

    def cause(self, metric: MetricSummary, target: str) -> str:
        """Say how this metric of one group, which is of a target, made the gate fail; empty if it did not."""
        if self.misses(metric, target):
            return _MISSES
        return "most failures" if self.is_most and metric.pass_rate.passed < metric.pass_rate.n else ""

    def misses(self, metric: MetricSummary, target: str) -> bool:
        """Return whether the mean of this metric of one group, which is of a target, made the gate fail."""
        if target not in self.missed or self.needed is None or metric.mean is None:
            return False
        return not mean_reaches(metric.mean, self.needed, lower=metric.direction == "lower")


def gate_marks(summary: Summary, gate: Gate | None, verdict: GateVerdict) -> Mapping[str, GateMark]:
    """Return the mark of each metric that counts for the gate."""
    gate = gate or Gate()
    failures = dict(_failures(summary)) if trials_decided(summary, gate, verdict) else {}
    most = max(failures.values(), default=0)
    missed: dict[str, set[str]] = {}
    for name, target in missed_by_target(summary.counted, gate) if verdict.outcome == "fail" else ():
        missed.setdefault(name, set()).add(target)
    return {
        metric.name: GateMark(
            needed=needed_mean(metric, gate),
            failed=(failed := failures.get(metric.name, 0)),
            is_most=0 < failed == most,
            missed=missed.get(metric.name, ()),
        )
        for group in summary.counted
        for metric in group.metrics
    }


def group_misses(group: SummaryGroup, marks: Mapping[str, GateMark]) -> str:
    """Name the metrics of a group whose mean made the gate fail; empty if none did. The pass rate of a gate is that of all groups."""
    names = [
        one_line(metric.name, 40)
        for metric in (() if group.left_out else group.metrics)
        if (mark := marks.get(metric.name)) is not None and mark.misses(metric, group.target)
    ]
    return f"{_MISSES}: {', '.join(names)}" if names else ""


def trials_decided(summary: Summary, gate: Gate | None, verdict: GateVerdict) -> bool:
    """Return whether the gate failed because too few trials passed."""
    gate = gate or Gate()
    # What decided an early stop holds for the cases that did not run.
    fails = misses_pass_rate(summary.total, gate) if summary.until_decided else trials_fail(summary, gate)
    return verdict.gated and verdict.outcome == "fail" and fails


def failures_text(marks: Mapping[str, GateMark]) -> str:
    """Say which metrics the failed trials failed; empty if failed trials did not decide, or there is only one metric.

    >>> failures_text({"exact": GateMark(None, 8), "polite": GateMark(None, 17, is_most=True)})
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
