"""Intervals, tests, agreement, summaries and gates, comparison and calibration.

The names below are public: functions on plain numbers and labels, and the summary and the gate of a run.
"""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from .agreement.corrected_rates import prediction_powered, rogan_gladen
    from .agreement.kappa_alpha import cohen_kappa, krippendorff_alpha
    from .agreement.raters import gwet_ac1
    from .agreement.stratified_rates import stratified_rate
    from .agreement.threshold_learning import learn_threshold
    from .inference.control_chart import ControlChart
    from .inference.differences import difference
    from .inference.intervals import clopper_pearson, wilson
    from .inference.means import mean_interval, share_interval
    from .inference.multiple_tests import benjamini_hochberg, holm
    from .inference.paired import mcnemar
    from .inference.power import cases_needed, smallest_effect
    from .inference.repeats import pass_at_k, pass_hat_k
    from .inference.sequential import BettingSequence
    from .inference.sign_flips import sign_flips
    from .summary.gate import apply_gate
    from .summary.summarise import summarise

__all__ = [
    "BettingSequence",
    "ControlChart",
    "apply_gate",
    "benjamini_hochberg",
    "cases_needed",
    "clopper_pearson",
    "cohen_kappa",
    "difference",
    "gwet_ac1",
    "holm",
    "krippendorff_alpha",
    "learn_threshold",
    "mcnemar",
    "mean_interval",
    "pass_at_k",
    "pass_hat_k",
    "prediction_powered",
    "rogan_gladen",
    "share_interval",
    "sign_flips",
    "smallest_effect",
    "stratified_rate",
    "summarise",
    "wilson",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "BettingSequence": "evalmark.stats.inference.sequential",
        "ControlChart": "evalmark.stats.inference.control_chart",
        "apply_gate": "evalmark.stats.summary.gate",
        "benjamini_hochberg": "evalmark.stats.inference.multiple_tests",
        "cases_needed": "evalmark.stats.inference.power",
        "clopper_pearson": "evalmark.stats.inference.intervals",
        "cohen_kappa": "evalmark.stats.agreement.kappa_alpha",
        "difference": "evalmark.stats.inference.differences",
        "gwet_ac1": "evalmark.stats.agreement.raters",
        "holm": "evalmark.stats.inference.multiple_tests",
        "krippendorff_alpha": "evalmark.stats.agreement.kappa_alpha",
        "learn_threshold": "evalmark.stats.agreement.threshold_learning",
        "mcnemar": "evalmark.stats.inference.paired",
        "mean_interval": "evalmark.stats.inference.means",
        "pass_at_k": "evalmark.stats.inference.repeats",
        "pass_hat_k": "evalmark.stats.inference.repeats",
        "prediction_powered": "evalmark.stats.agreement.corrected_rates",
        "rogan_gladen": "evalmark.stats.agreement.corrected_rates",
        "share_interval": "evalmark.stats.inference.means",
        "sign_flips": "evalmark.stats.inference.sign_flips",
        "smallest_effect": "evalmark.stats.inference.power",
        "stratified_rate": "evalmark.stats.agreement.stratified_rates",
        "summarise": "evalmark.stats.summary.summarise",
        "wilson": "evalmark.stats.inference.intervals",
    },
)
