"""Runs and their results as somebody looks through them: a page at a time, in any order, however many there are."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .browsing import BEGINNING, Around, At, Browsing, CaseOf, CaseRow, Found, Kept
    from .endings import Endings, endings_of
    from .narrowing import Known, search
    from .shared import Shared, shared_by
    from .standing import Moment, Standing, moment, standing_of
    from .trials import trial_name
    from .wanted import Order, Wanted

__all__ = [
    "BEGINNING",
    "Around",
    "At",
    "Browsing",
    "CaseOf",
    "CaseRow",
    "Endings",
    "Found",
    "Kept",
    "Known",
    "Moment",
    "Order",
    "Shared",
    "Standing",
    "Wanted",
    "endings_of",
    "moment",
    "search",
    "shared_by",
    "standing_of",
    "trial_name",
]

__getattr__ = deferred(
    __name__,
    {
        "BEGINNING": "browsing",
        "Around": "browsing",
        "At": "browsing",
        "Browsing": "browsing",
        "CaseOf": "browsing",
        "CaseRow": "browsing",
        "Endings": "endings",
        "Found": "browsing",
        "Kept": "browsing",
        "Known": "narrowing",
        "Moment": "standing",
        "Order": "wanted",
        "Shared": "shared",
        "Standing": "standing",
        "Wanted": "wanted",
        "endings_of": "endings",
        "moment": "standing",
        "search": "narrowing",
        "shared_by": "shared",
        "standing_of": "standing",
        "trial_name": "trials",
    },
)
