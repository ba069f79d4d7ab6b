"""What the numbers are worth: intervals, the figures of a run, and the verdict of its gate."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .agreement import cohen_kappa, krippendorff_alpha
    from .collect import summarise
    from .gate import GateVerdict, Outcome, figures_and_verdict, judge
    from .intervals import LEVEL, Interval, clopper_pearson, wilson
    from .means import clustered_error, mean, mean_interval, share_interval
    from .paired import Changes, changes, sign_test
    from .scores import scale_ends
    from .summary import Agreement, Group, MetricSummary, Pair, Share, Steadiness, Summary, Tally, WorstRow

__all__ = [
    "LEVEL",
    "Agreement",
    "Changes",
    "GateVerdict",
    "Group",
    "Interval",
    "MetricSummary",
    "Outcome",
    "Pair",
    "Share",
    "Steadiness",
    "Summary",
    "Tally",
    "WorstRow",
    "changes",
    "clopper_pearson",
    "clustered_error",
    "cohen_kappa",
    "figures_and_verdict",
    "judge",
    "krippendorff_alpha",
    "mean",
    "mean_interval",
    "scale_ends",
    "share_interval",
    "sign_test",
    "summarise",
    "wilson",
]

__getattr__ = deferred(
    __name__,
    {
        "Agreement": "summary",
        "Changes": "paired",
        "GateVerdict": "gate",
        "Group": "summary",
        "Interval": "intervals",
        "LEVEL": "intervals",
        "MetricSummary": "summary",
        "Outcome": "gate",
        "Pair": "summary",
        "Share": "summary",
        "Steadiness": "summary",
        "Summary": "summary",
        "Tally": "summary",
        "WorstRow": "summary",
        "changes": "paired",
        "clopper_pearson": "intervals",
        "clustered_error": "means",
        "cohen_kappa": "agreement",
        "figures_and_verdict": "gate",
        "judge": "gate",
        "krippendorff_alpha": "agreement",
        "mean": "means",
        "mean_interval": "means",
        "scale_ends": "scores",
        "share_interval": "means",
        "sign_test": "paired",
        "summarise": "collect",
        "wilson": "intervals",
    },
)
