"""A run beside an earlier one: better, worse, the same, or cannot be told."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .change import Comparison, Flip, Matching, MetricChange, Outcome, Slice, TargetChange
    from .comparing import compare

__all__ = ["Comparison", "Flip", "Matching", "MetricChange", "Outcome", "Slice", "TargetChange", "compare"]

__getattr__ = deferred(
    __name__,
    {
        "Comparison": "change",
        "Flip": "change",
        "Matching": "change",
        "MetricChange": "change",
        "Outcome": "change",
        "Slice": "change",
        "TargetChange": "change",
        "compare": "comparing",
    },
)
