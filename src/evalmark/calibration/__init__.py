"""Thresholds that are learned from what people say, the file that holds them, and how far a judge can be trusted."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .audit import Audit, Biases, Ceiling, Confusion, Rate, Truths
    from .auditing import audited, decides, verdict_of
    from .canaries import CASES, Canary, Passed, canaries_passed, canary_cases, shipped_canaries
    from .evidence import Evidence, Told, of_results, of_rows, of_traffic, votes
    from .labelled_cases import LABELS, row_labels, samples
    from .learning import (
        MAX_FALSE_PASS,
        Calibrated,
        Calibration,
        Kind,
        Promise,
        Scored,
        is_barred,
        learn,
        scored,
        split_level,
        wanted_metrics,
    )
    from .lock import NAME, Labels, Lock, Locked, locked
    from .lock_reading import read_lock
    from .since import changed, labels_changed

__all__ = [
    "CASES",
    "LABELS",
    "MAX_FALSE_PASS",
    "NAME",
    "Audit",
    "Biases",
    "Calibrated",
    "Calibration",
    "Canary",
    "Ceiling",
    "Confusion",
    "Evidence",
    "Kind",
    "Labels",
    "Lock",
    "Locked",
    "Passed",
    "Promise",
    "Rate",
    "Scored",
    "Told",
    "Truths",
    "audited",
    "canaries_passed",
    "canary_cases",
    "changed",
    "decides",
    "is_barred",
    "labels_changed",
    "learn",
    "locked",
    "of_results",
    "of_rows",
    "of_traffic",
    "read_lock",
    "row_labels",
    "samples",
    "scored",
    "shipped_canaries",
    "split_level",
    "verdict_of",
    "votes",
    "wanted_metrics",
]

__getattr__ = deferred(
    __name__,
    {
        "audited": "auditing",
        "decides": "auditing",
        "verdict_of": "auditing",
        "Audit": "audit",
        "Biases": "audit",
        "Ceiling": "audit",
        "Confusion": "audit",
        "Rate": "audit",
        "Truths": "audit",
        "CASES": "canaries",
        "Canary": "canaries",
        "Passed": "canaries",
        "canaries_passed": "canaries",
        "canary_cases": "canaries",
        "shipped_canaries": "canaries",
        "Calibrated": "learning",
        "Calibration": "learning",
        "Evidence": "evidence",
        "Kind": "learning",
        "LABELS": "labelled_cases",
        "Labels": "lock",
        "Lock": "lock",
        "Locked": "lock",
        "MAX_FALSE_PASS": "learning",
        "NAME": "lock",
        "Promise": "learning",
        "Scored": "learning",
        "Told": "evidence",
        "changed": "since",
        "is_barred": "learning",
        "labels_changed": "since",
        "learn": "learning",
        "locked": "lock",
        "of_results": "evidence",
        "of_rows": "evidence",
        "of_traffic": "evidence",
        "read_lock": "lock_reading",
        "row_labels": "labelled_cases",
        "samples": "labelled_cases",
        "scored": "learning",
        "split_level": "learning",
        "votes": "evidence",
        "wanted_metrics": "learning",
    },
)
