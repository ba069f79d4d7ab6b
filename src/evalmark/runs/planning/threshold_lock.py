"""Applies learned thresholds of a lock file to the metrics of a plan."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule

from .plan import Plan, ScorerSpec

if TYPE_CHECKING:
    from evalmark.core.values.run import Metric
    from evalmark.stats.calibration import label_drift, lock_reader
    from evalmark.stats.calibration.lock_file import LockedThreshold, LockFile
else:
    lock_reader = LazyModule("evalmark.stats.calibration.lock_reader")
    label_drift = LazyModule("evalmark.stats.calibration.label_drift")


NO_LOCK = "none"
"""No lock file, even if the suite or the settings name one."""


def with_lock(plan: Plan, path: str | Path | None) -> Plan:
    """Apply the thresholds of a lock file to metrics that have none in the suite; unchanged without a file.

    A threshold in the suite takes precedence. Notes report this, and what has changed since a threshold was learned.

    Raises:
        ConfigError: the lock file cannot be read, or the direction of a metric has changed.
    """
    if not path or path == NO_LOCK:
        return plan
    lock = lock_reader.read_lock(Path(path))
    specs: list[ScorerSpec] = []
    used: dict[str, LockedThreshold] = {}
    notes, has_metrics = list(plan.notes), False
    for spec in plan.scorers:
        try:
            metric = spec.bound(None).versioned
        except ConfigError:  # the check before the run reports why
            specs.append(spec)
            continue
        entry = entry_for(metric, lock.metrics)
        if entry is None:
            specs.append(spec)
            continue
        has_metrics = True
        locked, remarks = _with_threshold(spec, metric, entry, lock)
        specs.append(locked)
        notes += remarks
        if locked is not spec:
            used[metric.name] = entry
            embedder = plan.embedder.fingerprint if plan.embedder is not None and spec.needs_embedder else ""
            notes += label_drift.metric_changes(entry, metric, embedder, lock.path)
    if not has_metrics:
        notes.append(f"{lock.path} sets no threshold here; it has {', '.join(sorted(lock.metrics)) or 'no metric'}.")
    return replace(plan, scorers=tuple(specs), notes=tuple(notes), locked=tuple(used.values()), lock=lock.path)


def entry_for(metric: "Metric", entries: "Mapping[str, LockedThreshold]") -> "LockedThreshold | None":
    """Return the entry of a metric: by its name, or by its name without the judge, where the judge is the same.

    With one judge a metric has its own name; with several, the name of the judge is appended.
    """
    if (own := entries.get(metric.name)) is not None:
        return own
    same = (
        entry
        for name, entry in entries.items()
        if entry.judge == metric.judge != "" and {name, entry.base} & {metric.base or metric.name}
    )
    return next(same, None)


def _with_threshold(
    spec: ScorerSpec, metric: "Metric", entry: "LockedThreshold", lock: "LockFile"
) -> "tuple[ScorerSpec, list[str]]":
    """Return a scorer with its learned threshold, and notes on it."""
    if entry.direction != metric.direction:
        raise ConfigError(
            f"{lock.path}: the threshold of {metric.name} was learned when {entry.direction} was better, and now "
            f"{metric.direction} is; run evalmark calibrate again."
        )
    if spec.threshold is not None:
        return spec, list(_override_notes(metric, spec.threshold, entry, lock.path))
    locked = replace(spec, threshold=entry.threshold)
    if metric.threshold is None or metric.threshold == entry.threshold:
        return locked, []
    own = f"instead of the metric's default {metric.threshold:g}"
    return locked, [f"{metric.name}: uses threshold {entry.threshold:g} from {lock.path} {own}."]


def _override_notes(metric: "Metric", threshold: float, entry: "LockedThreshold", path: str) -> Iterator[str]:
    if threshold != entry.threshold:
        yield (
            f"{metric.name}: the suite's threshold {threshold:g} overrides {entry.threshold:g} in {path}, "
            "so the calibrated error bound does not apply."
        )
