"""What labels tell of a judge and of a threshold: agreement, errors, promises and corrected rates, on plain lists."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .agreement import alpha_with_interval, cohen_kappa, kappa_with_interval, krippendorff_alpha
    from .bias import length_slope, position_share
    from .judged import Corrected, corrected_by_betting, prediction_powered, rogan_gladen
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
    from .thresholds import Errors, Learned, learn_threshold

__all__ = [
    "Corrected",
    "Direction",
    "Errors",
    "Learned",
    "RocPoint",
    "Youden",
    "ac1_with_interval",
    "alpha_with_interval",
    "auc",
    "auc_interval",
    "clean_negatives_needed",
    "cohen_kappa",
    "conformal_threshold",
    "corrected_by_betting",
    "failures_allowed",
    "fleiss_kappa",
    "gwet_ac1",
    "hoeffding_bentkus",
    "kappa_with_interval",
    "krippendorff_alpha",
    "learn_then_test",
    "learn_threshold",
    "length_slope",
    "position_share",
    "prediction_powered",
    "roc_points",
    "rogan_gladen",
    "upper_bound",
    "youden",
]

__getattr__ = deferred(
    __name__,
    {
        "Corrected": "judged",
        "Direction": "separation",
        "Errors": "thresholds",
        "Learned": "thresholds",
        "RocPoint": "separation",
        "Youden": "separation",
        "ac1_with_interval": "raters",
        "alpha_with_interval": "agreement",
        "auc": "separation",
        "auc_interval": "separation",
        "clean_negatives_needed": "risk",
        "cohen_kappa": "agreement",
        "conformal_threshold": "risk",
        "corrected_by_betting": "judged",
        "failures_allowed": "risk",
        "fleiss_kappa": "raters",
        "gwet_ac1": "raters",
        "hoeffding_bentkus": "risk",
        "kappa_with_interval": "agreement",
        "krippendorff_alpha": "agreement",
        "learn_then_test": "risk",
        "learn_threshold": "thresholds",
        "length_slope": "bias",
        "position_share": "bias",
        "prediction_powered": "judged",
        "roc_points": "separation",
        "rogan_gladen": "judged",
        "upper_bound": "risk",
        "youden": "separation",
    },
)
