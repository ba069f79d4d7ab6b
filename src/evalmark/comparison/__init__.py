"""A run beside an earlier one: better, worse, the same, or cannot be told."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .answers import Earlier, earlier_answers
    from .cases import WENT, Cases, Place, Went, telling_cases
    from .change import Comparison, Flip, Matching, MetricChange, Outcome, Slice, TargetChange, Unjudged
    from .comparing import compare, compare_by_case
    from .earlier import comparable_with, earlier_of, is_same_suite, is_whole
    from .pairs import Pair, pairs_of
    from .rule_caveats import gate_caveats
    from .rules import Rejudged, RuleChange, Rules, judge_alike, rules_before
    from .targets import two_targets

__all__ = [
    "WENT",
    "Cases",
    "Comparison",
    "Earlier",
    "Flip",
    "Matching",
    "MetricChange",
    "Outcome",
    "Pair",
    "Place",
    "Rejudged",
    "RuleChange",
    "Rules",
    "Slice",
    "TargetChange",
    "Unjudged",
    "Went",
    "comparable_with",
    "compare",
    "compare_by_case",
    "earlier_answers",
    "earlier_of",
    "gate_caveats",
    "is_same_suite",
    "is_whole",
    "judge_alike",
    "pairs_of",
    "rules_before",
    "telling_cases",
    "two_targets",
]

__getattr__ = deferred(
    __name__,
    {
        "Cases": "cases",
        "Comparison": "change",
        "Earlier": "answers",
        "Flip": "change",
        "Matching": "change",
        "MetricChange": "change",
        "Outcome": "change",
        "Pair": "pairs",
        "Place": "cases",
        "Rejudged": "rules",
        "RuleChange": "rules",
        "Rules": "rules",
        "Slice": "change",
        "TargetChange": "change",
        "Unjudged": "change",
        "WENT": "cases",
        "Went": "cases",
        "comparable_with": "earlier",
        "compare": "comparing",
        "compare_by_case": "comparing",
        "earlier_answers": "answers",
        "earlier_of": "earlier",
        "gate_caveats": "rule_caveats",
        "is_same_suite": "earlier",
        "is_whole": "earlier",
        "judge_alike": "rules",
        "pairs_of": "pairs",
        "rules_before": "rules",
        "telling_cases": "cases",
        "two_targets": "targets",
    },
)
