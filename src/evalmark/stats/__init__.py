"""What the numbers are worth: intervals, the figures of a run, and the verdict of its gate."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .collect import summarise
    from .gate import GateVerdict, Outcome, figures_and_verdict, judge
    from .headline import REASONS, LeftOut, left_out, told
    from .paired import Changes, changes
    from .scores import scale_ends
    from .standings import Overview, Portion, Standing, overview
    from .summary import Agreement, Group, MetricSummary, Pair, Steadiness, Summary, Tally, WorstRow

__all__ = [
    "REASONS",
    "Agreement",
    "Changes",
    "GateVerdict",
    "Group",
    "LeftOut",
    "MetricSummary",
    "Outcome",
    "Overview",
    "Pair",
    "Portion",
    "Standing",
    "Steadiness",
    "Summary",
    "Tally",
    "WorstRow",
    "changes",
    "figures_and_verdict",
    "judge",
    "left_out",
    "overview",
    "scale_ends",
    "summarise",
    "told",
]

__getattr__ = deferred(
    __name__,
    {
        "Agreement": "summary",
        "Changes": "paired",
        "GateVerdict": "gate",
        "Group": "summary",
        "LeftOut": "headline",
        "MetricSummary": "summary",
        "Outcome": "gate",
        "Overview": "standings",
        "Pair": "summary",
        "Portion": "standings",
        "REASONS": "headline",
        "Standing": "standings",
        "Steadiness": "summary",
        "Summary": "summary",
        "Tally": "summary",
        "WorstRow": "summary",
        "changes": "paired",
        "figures_and_verdict": "gate",
        "judge": "gate",
        "left_out": "headline",
        "overview": "standings",
        "scale_ends": "scores",
        "summarise": "collect",
        "told": "headline",
    },
)
