"""What the numbers are worth: intervals, the figures of a run, and the verdict of its gate."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .collect import summarise
    from .gate import GateVerdict, Outcome, judge
    from .intervals import LEVEL, Interval, clopper_pearson, wilson
    from .means import clustered_error, mean, mean_interval, share_interval
    from .summary import Group, MetricSummary, Share, Summary, Tally

__all__ = [
    "LEVEL",
    "GateVerdict",
    "Group",
    "Interval",
    "MetricSummary",
    "Outcome",
    "Share",
    "Summary",
    "Tally",
    "clopper_pearson",
    "clustered_error",
    "judge",
    "mean",
    "mean_interval",
    "share_interval",
    "summarise",
    "wilson",
]

__getattr__ = deferred(
    __name__,
    {
        "GateVerdict": "gate",
        "Group": "summary",
        "Interval": "intervals",
        "LEVEL": "intervals",
        "MetricSummary": "summary",
        "Outcome": "gate",
        "Share": "summary",
        "Summary": "summary",
        "Tally": "summary",
        "clopper_pearson": "intervals",
        "clustered_error": "means",
        "judge": "gate",
        "mean": "means",
        "mean_interval": "means",
        "share_interval": "means",
        "summarise": "collect",
        "wilson": "intervals",
    },
)
