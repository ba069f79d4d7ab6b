"""What the numbers are worth: intervals, the figures of a run, and the verdict of its gate."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_FILES = {
    "collect": ("summarise",),
    "gate": ("GateVerdict", "Outcome", "judge"),
    "intervals": ("LEVEL", "Interval", "clopper_pearson", "wilson"),
    "means": ("clustered_error", "mean", "mean_interval", "share_interval"),
    "summary": ("Group", "MetricSummary", "Share", "Summary", "Tally"),
}


def __getattr__(name: str) -> Any:
    """Loads a name's file at first use, so that importing the room costs nothing."""
    for file, names in _FILES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{file}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
