"""Numbers in, numbers out: intervals, tests and agreement, computed from plain lists and knowing nothing of runs."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .agreement import alpha_with_interval, cohen_kappa, kappa_with_interval, krippendorff_alpha
    from .bias import length_slope, position_share
    from .differences import MARGIN, Difference, difference, paired_interval
    from .intervals import LEVEL, Interval, Share, clopper_pearson, no_interval, wilson
    from .judged import Corrected, prediction_powered, rogan_gladen
    from .means import clustered_error, mean, mean_interval, share, share_interval
    from .paired import sign_test
    from .raters import ac1_with_interval, fleiss_kappa, gwet_ac1
    from .risk import (
        clean_negatives_needed,
        conformal_threshold,
        failures_allowed,
        hoeffding_bentkus,
        learn_then_test,
        upper_bound,
    )
    from .separation import Direction, RocPoint, Youden, auc, auc_interval, roc_points, youden
    from .sequential import BettingSequence, Wealth, asymptotic_half_width, decided
    from .thresholds import Errors, Learned, learn_threshold

__all__ = [
    "LEVEL",
    "MARGIN",
    "BettingSequence",
    "Corrected",
    "Difference",
    "Direction",
    "Errors",
    "Interval",
    "Learned",
    "RocPoint",
    "Share",
    "Wealth",
    "Youden",
    "ac1_with_interval",
    "alpha_with_interval",
    "asymptotic_half_width",
    "auc",
    "auc_interval",
    "clean_negatives_needed",
    "clopper_pearson",
    "clustered_error",
    "cohen_kappa",
    "conformal_threshold",
    "decided",
    "difference",
    "failures_allowed",
    "fleiss_kappa",
    "gwet_ac1",
    "hoeffding_bentkus",
    "kappa_with_interval",
    "krippendorff_alpha",
    "learn_then_test",
    "learn_threshold",
    "length_slope",
    "mean",
    "mean_interval",
    "no_interval",
    "paired_interval",
    "position_share",
    "prediction_powered",
    "roc_points",
    "rogan_gladen",
    "share",
    "share_interval",
    "sign_test",
    "upper_bound",
    "wilson",
    "youden",
]

__getattr__ = deferred(
    __name__,
    {
        "BettingSequence": "sequential",
        "Corrected": "judged",
        "Difference": "differences",
        "Direction": "separation",
        "Errors": "thresholds",
        "Interval": "intervals",
        "LEVEL": "intervals",
        "Learned": "thresholds",
        "MARGIN": "differences",
        "RocPoint": "separation",
        "Share": "intervals",
        "Wealth": "sequential",
        "Youden": "separation",
        "ac1_with_interval": "raters",
        "alpha_with_interval": "agreement",
        "asymptotic_half_width": "sequential",
        "auc": "separation",
        "auc_interval": "separation",
        "clean_negatives_needed": "risk",
        "clopper_pearson": "intervals",
        "clustered_error": "means",
        "cohen_kappa": "agreement",
        "conformal_threshold": "risk",
        "decided": "sequential",
        "difference": "differences",
        "failures_allowed": "risk",
        "fleiss_kappa": "raters",
        "gwet_ac1": "raters",
        "hoeffding_bentkus": "risk",
        "kappa_with_interval": "agreement",
        "krippendorff_alpha": "agreement",
        "learn_then_test": "risk",
        "learn_threshold": "thresholds",
        "length_slope": "bias",
        "mean": "means",
        "mean_interval": "means",
        "no_interval": "intervals",
        "paired_interval": "differences",
        "position_share": "bias",
        "prediction_powered": "judged",
        "roc_points": "separation",
        "rogan_gladen": "judged",
        "share": "means",
        "share_interval": "means",
        "sign_test": "paired",
        "upper_bound": "risk",
        "wilson": "intervals",
        "youden": "separation",
    },
)
