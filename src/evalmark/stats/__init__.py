"""What the numbers are worth: intervals, the figures of a run, and the verdict of its gate."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .agreement import cohen_kappa, krippendorff_alpha
    from .collect import summarise
    from .differences import Difference, difference, paired_interval
    from .gate import GateVerdict, Outcome, figures_and_verdict, judge
    from .intervals import LEVEL, Interval, clopper_pearson, wilson
    from .means import clustered_error, mean, mean_interval, share_interval
    from .paired import Changes, changes, sign_test
    from .scores import scale_ends
    from .standings import Overview, Portion, Standing, overview
    from .summary import Agreement, Group, MetricSummary, Pair, Share, Steadiness, Summary, Tally, WorstRow

__all__ = [
    "LEVEL",
    "Agreement",
    "Changes",
    "Difference",
    "GateVerdict",
    "Group",
    "Interval",
    "MetricSummary",
    "Outcome",
    "Overview",
    "Pair",
    "Portion",
    "Share",
    "Standing",
    "Steadiness",
    "Summary",
    "Tally",
    "WorstRow",
    "changes",
    "clopper_pearson",
    "clustered_error",
    "cohen_kappa",
    "difference",
    "figures_and_verdict",
    "judge",
    "krippendorff_alpha",
    "mean",
    "mean_interval",
    "overview",
    "paired_interval",
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
        "Difference": "differences",
        "GateVerdict": "gate",
        "Group": "summary",
        "Interval": "intervals",
        "LEVEL": "intervals",
        "MetricSummary": "summary",
        "Outcome": "gate",
        "Overview": "standings",
        "Pair": "summary",
        "Portion": "standings",
        "Share": "summary",
        "Standing": "standings",
        "Steadiness": "summary",
        "Summary": "summary",
        "Tally": "summary",
        "WorstRow": "summary",
        "changes": "paired",
        "clopper_pearson": "intervals",
        "clustered_error": "means",
        "cohen_kappa": "agreement",
        "difference": "differences",
        "figures_and_verdict": "gate",
        "judge": "gate",
        "krippendorff_alpha": "agreement",
        "mean": "means",
        "mean_interval": "means",
        "overview": "standings",
        "paired_interval": "differences",
        "scale_ends": "scores",
        "share_interval": "means",
        "sign_test": "paired",
        "summarise": "collect",
        "wilson": "intervals",
    },
)
