"""Learned thresholds as a file that a team commits: stable text, one entry a metric."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from evalmark.core.values.score import Direction
from evalmark.stats.inference.argument_checks import check_arguments

from .threshold_calibration import CalibratedMetric, Calibration, Kind

NAME = "evalmark.lock.json"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedLabels:
    """The labels that a threshold was learned from."""

    kind: Kind
    name: str
    """Of the project, the run or the file."""
    total: int
    """All labelled outputs there were, judged or not."""
    liked: int
    """Of those that were judged."""
    disliked: int
    liked_cases: int
    disliked_cases: int
    fingerprint: str
    """Of all labels there were, judged or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedThreshold:
    """The threshold of one metric, what is promised of it, and what it holds for."""

    metric: str
    threshold: float
    direction: Direction
    max_false_pass: float
    """At most this share of bad cases passes."""
    level: float
    """How sure that is."""
    bound: float
    """What the labels promise, which is at most `max_false_pass`."""
    method: str
    auc: tuple[float, float, float] | None
    """The area under the ROC curve, and the ends of its interval."""
    labels: LockedLabels
    version: str
    """Of the metric: its code or prompt, and its settings."""
    judge: str
    embedder: str
    """Fingerprint of the embedding model; empty for metrics that use none."""
    created: str
    evalmark: str
    base: str = ""
    """What the metric is called without its judge, where several judges shared it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """A lock file."""

    metrics: Mapping[str, LockedThreshold]
    """By the name of the metric."""
    path: str = NAME
    """As the user wrote it."""

    def merged(self, entries: Iterable[LockedThreshold]) -> "LockFile":
        """With further entries; one of a metric that is there already takes its place."""
        return replace(self, metrics={**self.metrics, **{entry.metric: entry for entry in entries}})

    @property
    def text(self) -> str:
        """The text of the file: sorted, so that it differs only where something has changed."""
        metrics = {name: _plain(entry) for name, entry in self.metrics.items()}
        whole = {"evalmark_lock": VERSION, "metrics": metrics}
        return json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


@check_arguments
def lock_entries(found: Calibration, created: str, evalmark: str) -> tuple[LockedThreshold, ...]:
    """An entry for each metric; `created` is ISO 8601 in UTC, `evalmark` the version that has learned it.

    Raises:
        ValueError: nothing can be promised of one of them.
    """
    return tuple(_locked(one, found, created, evalmark) for one in found.metrics)


def _locked(one: CalibratedMetric, found: Calibration, created: str, evalmark: str) -> LockedThreshold:
    learned, evidence = one.learned, found.evidence
    if learned.threshold is None or learned.bound is None:
        raise ValueError(f"{one.metric.name}: nothing can be promised, so there is nothing to lock")
    area = learned.auc_interval
    return LockedThreshold(
        metric=one.metric.name,
        base=one.metric.base,
        threshold=learned.threshold,
        direction=learned.direction,
        max_false_pass=learned.max_false_pass,
        level=round(learned.level, 12),
        bound=round(learned.bound, 6),
        method=learned.method,
        auc=None
        if learned.auc is None or area.low is None or area.high is None
        else (round(learned.auc, 6), round(area.low, 6), round(area.high, 6)),
        labels=LockedLabels(
            kind=found.kind,
            name=found.name,
            total=len(evidence.told),
            liked=learned.good,
            disliked=learned.bad,
            liked_cases=learned.good_cases,
            disliked_cases=learned.bad_cases,
            fingerprint=evidence.fingerprint,
        ),
        version=one.metric.version,
        judge=one.metric.judge,
        embedder=one.embedder,
        created=created,
        evalmark=evalmark,
    )


def _plain(entry: LockedThreshold) -> dict[str, Any]:
    said = asdict(entry)
    del said["metric"]
    said["auc"] = None if entry.auc is None else list(entry.auc)
    return said
