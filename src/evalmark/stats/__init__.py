"""What the numbers are worth: intervals, the figures of a run, and the verdict of its gate."""

from .collect import summarise
from .gate import GateVerdict, Outcome, judge
from .interval import LEVEL, Interval, clopper_pearson, wilson
from .mean import clustered_error, mean, mean_interval, share_interval
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
