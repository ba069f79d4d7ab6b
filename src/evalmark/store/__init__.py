"""Runs and the vectors of texts, in one SQLite file or on a PostgreSQL server."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .browsing import Around, At, Browsing, CaseOf, CaseRow, Found, Kept
    from .endings import Endings
    from .health import Health
    from .names import new_run_id
    from .narrowing import Known
    from .places import is_there, may_be_written, told_place
    from .rescue import Salvaged, salvage
    from .rows import Packed, packed, unpacked
    from .shared import Shared
    from .standing import Moment, Standing
    from .store import Store, open_store
    from .trials import trial_name
    from .wanted import Order, Wanted

__all__ = [
    "Around",
    "At",
    "Browsing",
    "CaseOf",
    "CaseRow",
    "Endings",
    "Found",
    "Health",
    "Kept",
    "Known",
    "Moment",
    "Order",
    "Packed",
    "Salvaged",
    "Shared",
    "Standing",
    "Store",
    "Wanted",
    "is_there",
    "may_be_written",
    "new_run_id",
    "open_store",
    "packed",
    "salvage",
    "told_place",
    "trial_name",
    "unpacked",
]

__getattr__ = deferred(
    __name__,
    {
        "Around": "browsing",
        "At": "browsing",
        "Browsing": "browsing",
        "CaseOf": "browsing",
        "CaseRow": "browsing",
        "Endings": "endings",
        "Found": "browsing",
        "Health": "health",
        "Kept": "browsing",
        "Known": "narrowing",
        "Moment": "standing",
        "Order": "wanted",
        "Packed": "rows",
        "Salvaged": "rescue",
        "Shared": "shared",
        "Standing": "standing",
        "Store": "store",
        "Wanted": "wanted",
        "is_there": "places",
        "may_be_written": "places",
        "new_run_id": "names",
        "open_store": "store",
        "packed": "rows",
        "salvage": "rescue",
        "trial_name": "trials",
        "told_place": "places",
        "unpacked": "rows",
    },
)
