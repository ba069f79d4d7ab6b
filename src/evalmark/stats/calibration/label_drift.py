"""Warns about changes since a threshold was learned, after which its guarantee may not hold."""

from collections.abc import Iterator

from evalmark.core.embedding_modes import model_and_mode
from evalmark.core.text import count
from evalmark.core.values.run import Metric
from evalmark.stats.inference.argument_checks import check_arguments

from .evidence import LabelEvidence
from .lock_file import LockedThreshold


@check_arguments
def metric_changes(entry: LockedThreshold, metric: Metric, embedder: str, path: str) -> Iterator[str]:
    """Yield one sentence for each change of a metric since its threshold was learned; `embedder` is the run's fingerprint."""
    opening = f"Warning: {path}: the threshold of {metric.name}"
    again = "evalmark calibrate learns it anew."
    if entry.judge != metric.judge:
        yield (
            f"{opening} was learned with {entry.judge or 'no judge'}, and the judge is now "
            f"{metric.judge or 'none'}; {again}"
        )
    if entry.version and metric.version and entry.version != metric.version:
        what = "the judge's prompt or settings" if metric.judge else "the metric's code or settings"
        yield f"{opening} was learned before a change of {what}; {again}"
    if entry.embedder and embedder and entry.embedder != embedder:
        (model, mode), (earlier, mode_then) = model_and_mode(embedder), model_and_mode(entry.embedder)
        other = f"the embedding model in {mode_then} mode, which is now in {mode} mode"
        yield f"{opening} was learned with {other if model == earlier else 'another embedding model'}; {again}"


@check_arguments
def label_changes(entry: LockedThreshold, now: LabelEvidence, path: str) -> str | None:
    """Return a warning if the labels have changed since a threshold was learned; None otherwise.

    Fewer labels than then give no warning: they may be those of another machine.
    """
    then, there = entry.labels, len(now.labelled)
    if now.fingerprint == then.fingerprint or there < then.total:
        return None
    return (
        f"Warning: {path}: the threshold of {entry.metric} was learned from {count(then.total, 'labelled output')} of "
        f"{then.kind} {then.name}, and {_now(there, then.total)}; evalmark calibrate learns it anew."
    )


def _now(there: int, then: int) -> str:
    return f"there are {there:,} now" if there > then else "what people say of them has changed"
