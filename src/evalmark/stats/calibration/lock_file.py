"""The lock file: learned thresholds in a stable text that a team commits."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from evalmark.core.values.score import Direction
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.shift import ScoreDistribution

from .threshold_calibration import CASE, CalibratedMetric, Calibration, Kind

NAME = "evalmark.lock.json"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedLabels:
    """The labels that a threshold was learned from."""

    kind: Kind
    name: str
    """The name of the project, the run or the file."""
    total: int
    """All labelled outputs, scored or not."""
    liked: int
    """Liked outputs with a score."""
    disliked: int
    liked_cases: int
    disliked_cases: int
    fingerprint: str
    """The fingerprint of all labels, scored or not."""
    cluster: str = ""
    """What the guarantee counts instead of inputs: a field such as `document`, or `conversation`; empty: inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedThreshold:
    """The threshold of one metric, with its guarantee and its conditions."""

    metric: str
    threshold: float
    direction: Direction
    max_false_pass: float
    """The largest allowed share of bad cases that pass."""
    level: float
    """The confidence level."""
    bound: float
    """The upper bound that the labels prove, at most `max_false_pass`."""
    method: str
    auc: tuple[float, float, float] | None
    """The area under the ROC curve, and the ends of its interval."""
    labels: LockedLabels
    version: str
    """The version of the metric: its code or prompt, and its settings."""
    judge: str
    embedder: str
    """The fingerprint of the embedding model; empty if none is used."""
    created: str
    evalmark: str
    base: str = ""
    """The name of the metric without its judge, if it has several judges."""
    scores: ScoreDistribution | None = None
    """The scores that later ones are compared with; None in files of older versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """A lock file."""

    metrics: Mapping[str, LockedThreshold]
    """By the name of the metric."""
    path: str = NAME
    """As the user wrote it."""

    def merged(self, entries: Iterable[LockedThreshold]) -> "LockFile":
        """Add entries; an entry replaces an existing one of the same metric."""
        return replace(self, metrics={**self.metrics, **{entry.metric: entry for entry in entries}})

    @property
    def text(self) -> str:
        """The text of the file, sorted for small diffs."""
        metrics = {name: _plain(entry) for name, entry in self.metrics.items()}
        whole = {"evalmark_lock": VERSION, "metrics": metrics}
        return json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


@check_arguments
def lock_entries(found: Calibration, created: str, evalmark: str) -> tuple[LockedThreshold, ...]:
    """Return an entry for each metric; `created` is ISO 8601 in UTC, `evalmark` the version that learned it.

    Raises:
        ValueError: for one of them no threshold meets the bound.
    """
    return tuple(_locked(one, found, created, evalmark) for one in found.metrics)


def _locked(one: CalibratedMetric, found: Calibration, created: str, evalmark: str) -> LockedThreshold:
    learned, evidence = one.learned, found.evidence
    if learned.threshold is None or learned.bound is None:
        raise ValueError(f"{one.metric.name}: no threshold meets the bound, so nothing is written")
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
            total=len(evidence.labelled),
            liked=learned.good,
            disliked=learned.bad,
            liked_cases=learned.good_cases,
            disliked_cases=learned.bad_cases,
            fingerprint=evidence.fingerprint,
            cluster="" if one.unit == CASE else one.unit,
        ),
        version=one.metric.version,
        judge=one.metric.judge,
        embedder=one.embedder,
        created=created,
        evalmark=evalmark,
        scores=one.scores,
    )


def _plain(entry: LockedThreshold) -> dict[str, Any]:
    fields = asdict(entry)
    del fields["metric"]
    if not entry.labels.cluster:
        del fields["labels"]["cluster"]
    fields["auc"] = None if entry.auc is None else list(entry.auc)
    return fields
