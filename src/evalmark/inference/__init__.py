"""Numbers in, numbers out: intervals, means and tests, computed from plain lists and knowing nothing of runs."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .bounded import dirichlet_interval
    from .differences import MARGIN, Difference, difference, paired_interval
    from .flips import SignFlips, sign_flips
    from .intervals import LEVEL, Interval, Share, clopper_pearson, no_interval, wilson
    from .means import DIFFERENT, FEW, clustered_error, mean, mean_interval, share, share_interval
    from .missing import Judged, adjusted, with_missing
    from .paired import McNemar, mcnemar, sign_test
    from .power import POWER, cases_needed, paired_variance, quantiles, smallest_effect
    from .repeats import OfTries, mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k
    from .sequential import BettingSequence, Wealth, asymptotic_half_width, decided
    from .several import benjamini_hochberg, holm

__all__ = [
    "DIFFERENT",
    "FEW",
    "LEVEL",
    "MARGIN",
    "POWER",
    "BettingSequence",
    "Difference",
    "Interval",
    "Judged",
    "McNemar",
    "OfTries",
    "Share",
    "SignFlips",
    "Wealth",
    "adjusted",
    "asymptotic_half_width",
    "benjamini_hochberg",
    "cases_needed",
    "clopper_pearson",
    "clustered_error",
    "decided",
    "difference",
    "dirichlet_interval",
    "holm",
    "mcnemar",
    "mean",
    "mean_interval",
    "mean_pass_at_k",
    "mean_pass_hat_k",
    "no_interval",
    "paired_interval",
    "paired_variance",
    "pass_at_k",
    "pass_hat_k",
    "quantiles",
    "share",
    "share_interval",
    "sign_flips",
    "sign_test",
    "smallest_effect",
    "wilson",
    "with_missing",
]

__getattr__ = deferred(
    __name__,
    {
        "BettingSequence": "sequential",
        "DIFFERENT": "means",
        "Difference": "differences",
        "FEW": "means",
        "Interval": "intervals",
        "Judged": "missing",
        "LEVEL": "intervals",
        "MARGIN": "differences",
        "McNemar": "paired",
        "OfTries": "repeats",
        "POWER": "power",
        "Share": "intervals",
        "SignFlips": "flips",
        "Wealth": "sequential",
        "adjusted": "missing",
        "asymptotic_half_width": "sequential",
        "benjamini_hochberg": "several",
        "cases_needed": "power",
        "clopper_pearson": "intervals",
        "clustered_error": "means",
        "decided": "sequential",
        "difference": "differences",
        "dirichlet_interval": "bounded",
        "holm": "several",
        "mcnemar": "paired",
        "mean": "means",
        "mean_interval": "means",
        "mean_pass_at_k": "repeats",
        "mean_pass_hat_k": "repeats",
        "no_interval": "intervals",
        "paired_interval": "differences",
        "paired_variance": "power",
        "pass_at_k": "repeats",
        "pass_hat_k": "repeats",
        "quantiles": "power",
        "share": "means",
        "share_interval": "means",
        "sign_flips": "flips",
        "sign_test": "paired",
        "smallest_effect": "power",
        "wilson": "intervals",
        "with_missing": "missing",
    },
)
