"""What the numbers are worth: intervals, the figures of a run, and the verdict of its gate."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .bars import Bar, Make, NotWorse
    from .collect import planned, summarise
    from .deciding import Deciding, Whole
    from .drawing import InOrder, Place, drawn
    from .gate import GateVerdict, Outcome, figures_and_verdict, judge
    from .headline import REASONS, LeftOut, left_out, told
    from .scores import scale_ends
    from .standings import Overview, Portion, Standing, overview
    from .summary import Agreement, Group, MetricSummary, Pair, Repeats, Steadiness, Summary, Tally, WorstRow
    from .worth import Prices, Worth, Worths, unbeaten

__all__ = [
    "REASONS",
    "Agreement",
    "Bar",
    "Deciding",
    "GateVerdict",
    "Group",
    "InOrder",
    "LeftOut",
    "Make",
    "MetricSummary",
    "NotWorse",
    "Outcome",
    "Overview",
    "Pair",
    "Place",
    "Portion",
    "Prices",
    "Repeats",
    "Standing",
    "Steadiness",
    "Summary",
    "Tally",
    "Whole",
    "WorstRow",
    "Worth",
    "Worths",
    "drawn",
    "figures_and_verdict",
    "judge",
    "left_out",
    "overview",
    "planned",
    "scale_ends",
    "summarise",
    "told",
    "unbeaten",
]

__getattr__ = deferred(
    __name__,
    {
        "Agreement": "summary",
        "Bar": "bars",
        "Deciding": "deciding",
        "GateVerdict": "gate",
        "Group": "summary",
        "InOrder": "drawing",
        "LeftOut": "headline",
        "Make": "bars",
        "MetricSummary": "summary",
        "NotWorse": "bars",
        "Outcome": "gate",
        "Overview": "standings",
        "Pair": "summary",
        "Place": "drawing",
        "Portion": "standings",
        "Repeats": "summary",
        "REASONS": "headline",
        "Standing": "standings",
        "Steadiness": "summary",
        "Summary": "summary",
        "Tally": "summary",
        "Whole": "deciding",
        "WorstRow": "summary",
        "drawn": "drawing",
        "figures_and_verdict": "gate",
        "judge": "gate",
        "left_out": "headline",
        "overview": "standings",
        "scale_ends": "scores",
        "planned": "collect",
        "summarise": "collect",
        "told": "headline",
        "Prices": "worth",
        "Worth": "worth",
        "Worths": "worth",
        "unbeaten": "worth",
    },
)
