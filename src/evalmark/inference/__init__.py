"""Numbers in, numbers out: intervals, tests and agreement, computed from plain lists and knowing nothing of runs."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .agreement import alpha_with_interval, cohen_kappa, kappa_with_interval, krippendorff_alpha
    from .differences import MARGIN, Difference, difference, paired_interval
    from .intervals import LEVEL, Interval, Share, clopper_pearson, no_interval, wilson
    from .means import clustered_error, mean, mean_interval, share, share_interval
    from .paired import sign_test

__all__ = [
    "LEVEL",
    "MARGIN",
    "Difference",
    "Interval",
    "Share",
    "alpha_with_interval",
    "clopper_pearson",
    "clustered_error",
    "cohen_kappa",
    "difference",
    "kappa_with_interval",
    "krippendorff_alpha",
    "mean",
    "mean_interval",
    "no_interval",
    "paired_interval",
    "share",
    "share_interval",
    "sign_test",
    "wilson",
]

__getattr__ = deferred(
    __name__,
    {
        "Difference": "differences",
        "Interval": "intervals",
        "LEVEL": "intervals",
        "MARGIN": "differences",
        "Share": "intervals",
        "alpha_with_interval": "agreement",
        "clopper_pearson": "intervals",
        "clustered_error": "means",
        "cohen_kappa": "agreement",
        "difference": "differences",
        "kappa_with_interval": "agreement",
        "krippendorff_alpha": "agreement",
        "mean": "means",
        "mean_interval": "means",
        "no_interval": "intervals",
        "paired_interval": "differences",
        "share": "means",
        "share_interval": "means",
        "sign_test": "paired",
        "wilson": "intervals",
    },
)
