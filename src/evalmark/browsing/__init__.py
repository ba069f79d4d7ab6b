"""Runs and their results as somebody looks through them: a page at a time, in any order, however many there are."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .browsing import BEGINNING, Around, At, Browsing, CaseOf, CaseRow, Found, Kept
    from .endings import Endings
    from .narrowing import Known
    from .shared import Shared
    from .standing import Moment, Standing
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
        "trial_name": "trials",
    },
)
