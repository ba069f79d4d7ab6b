"""Thresholds that are learned from what people say, the file that holds them, and how far a judge can be trusted."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .evidence import Evidence, Told, of_results, of_rows, of_traffic, votes
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
    from .left_out import LABELS, row_labels, samples
    from .lock import NAME, Labels, Lock, Locked, locked
    from .lock_reading import read_lock
    from .since import changed, labels_changed

__all__ = [
    "LABELS",
    "MAX_FALSE_PASS",
    "NAME",
    "Calibrated",
    "Calibration",
    "Evidence",
    "Kind",
    "Labels",
    "Lock",
    "Locked",
    "Promise",
    "Scored",
    "Told",
    "changed",
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
    "split_level",
    "votes",
    "wanted_metrics",
]

__getattr__ = deferred(
    __name__,
    {
        "Calibrated": "learning",
        "Calibration": "learning",
        "Evidence": "evidence",
        "Kind": "learning",
        "LABELS": "left_out",
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
        "row_labels": "left_out",
        "samples": "left_out",
        "scored": "learning",
        "split_level": "learning",
        "votes": "evidence",
        "wanted_metrics": "learning",
    },
)
