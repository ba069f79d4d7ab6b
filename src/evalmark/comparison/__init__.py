"""A run beside an earlier one: better, worse, the same, or cannot be told."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .change import Comparison, Flip, Matching, MetricChange, Outcome, Slice, TargetChange
    from .comparing import compare
    from .earlier import comparable_with, earlier_of, is_same_suite, is_whole
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
    "comparable_with",
    "compare",
    "earlier_of",
    "is_same_suite",
    "is_whole",
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
        "comparable_with": "earlier",
        "compare": "comparing",
        "earlier_of": "earlier",
        "is_same_suite": "earlier",
        "is_whole": "earlier",
        "pairs_of": "pairs",
    },
)
