"""Thresholds learned and judges audited: what is judged for it, and what people say of it in the store."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .auditing import Auditing, audit, audited_metrics, canaries, plan_canaries, rules_truths, truths_of
    from .calibrating import Calibrate, Prepared, calibrated, check_lock, prepare, write_lock
    from .unlisted import Unlisted

__all__ = [
    "Auditing",
    "Calibrate",
    "Prepared",
    "Unlisted",
    "audit",
    "audited_metrics",
    "calibrated",
    "canaries",
    "check_lock",
    "plan_canaries",
    "prepare",
    "rules_truths",
    "truths_of",
    "write_lock",
]

__getattr__ = deferred(
    __name__,
    {
        "Auditing": "auditing",
        "Calibrate": "calibrating",
        "Prepared": "calibrating",
        "Unlisted": "unlisted",
        "audit": "auditing",
        "audited_metrics": "auditing",
        "calibrated": "calibrating",
        "canaries": "auditing",
        "check_lock": "calibrating",
        "plan_canaries": "auditing",
        "prepare": "calibrating",
        "rules_truths": "auditing",
        "truths_of": "auditing",
        "write_lock": "calibrating",
    },
)
