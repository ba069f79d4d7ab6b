"""A run beside an earlier one: better, worse, the same, or cannot be told."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .change import Comparison, Flip, Matching, MetricChange, Outcome, Slice, TargetChange
    from .comparing import compare
    from .pairs import Pair, pairs_of

__all__ = [
    "Comparison",
    "Flip",
    "Matching",
    "MetricChange",
    "Outcome",
    "Pair",
    "Slice",
    "TargetChange",
    "compare",
    "pairs_of",
]

__getattr__ = deferred(
    __name__,
    {
        "Comparison": "change",
        "Flip": "change",
        "Matching": "change",
        "MetricChange": "change",
        "Outcome": "change",
        "Pair": "pairs",
        "Slice": "change",
        "TargetChange": "change",
        "compare": "comparing",
        "pairs_of": "pairs",
    },
)
