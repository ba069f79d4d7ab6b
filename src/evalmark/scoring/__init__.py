"""What binds, names and reads scorers of any kind, and what the built-in ones rest on."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .bound import MODELS, OFFERS, BoundScorer, as_scorer, scorer_name
    from .given import as_scores
    from .named import GROUP, resolve, scorer_names
    from .negation import Check, Not
    from .verdict import TOLERANCE, checked, is_barred, meets, no_reference, unscored
    from .wording import LONGEST, NO_EXPECTED, both, shown, text_of

__all__ = [
    "GROUP",
    "LONGEST",
    "MODELS",
    "NO_EXPECTED",
    "OFFERS",
    "TOLERANCE",
    "BoundScorer",
    "Check",
    "Not",
    "as_scorer",
    "as_scores",
    "both",
    "checked",
    "is_barred",
    "meets",
    "no_reference",
    "resolve",
    "scorer_name",
    "scorer_names",
    "shown",
    "text_of",
    "unscored",
]

__getattr__ = deferred(
    __name__,
    {
        "GROUP": "named",
        "LONGEST": "wording",
        "MODELS": "bound",
        "NO_EXPECTED": "wording",
        "OFFERS": "bound",
        "TOLERANCE": "verdict",
        "BoundScorer": "bound",
        "Check": "negation",
        "Not": "negation",
        "as_scorer": "bound",
        "as_scores": "given",
        "both": "wording",
        "checked": "verdict",
        "is_barred": "verdict",
        "meets": "verdict",
        "no_reference": "verdict",
        "resolve": "named",
        "scorer_name": "bound",
        "scorer_names": "named",
        "shown": "wording",
        "text_of": "wording",
        "unscored": "verdict",
    },
)
