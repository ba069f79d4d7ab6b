"""Runs and the vectors of texts, in one SQLite file."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .browsing import Browsing, CaseOf, CaseRow, Found, Kept
    from .endings import Endings
    from .health import Health
    from .names import new_run_id
    from .rescue import Salvaged, salvage
    from .rows import Packed, packed, unpacked
    from .shared import Shared
    from .standing import Moment, Standing
    from .store import Store, open_store
    from .wanted import Order, Wanted

__all__ = [
    "Browsing",
    "CaseOf",
    "CaseRow",
    "Endings",
    "Found",
    "Health",
    "Kept",
    "Moment",
    "Order",
    "Packed",
    "Salvaged",
    "Shared",
    "Standing",
    "Store",
    "Wanted",
    "new_run_id",
    "open_store",
    "packed",
    "salvage",
    "unpacked",
]

__getattr__ = deferred(
    __name__,
    {
        "Browsing": "browsing",
        "CaseOf": "browsing",
        "CaseRow": "browsing",
        "Endings": "endings",
        "Found": "browsing",
        "Health": "health",
        "Kept": "browsing",
        "Moment": "standing",
        "Order": "wanted",
        "Packed": "rows",
        "Salvaged": "rescue",
        "Shared": "shared",
        "Standing": "standing",
        "Store": "store",
        "Wanted": "wanted",
        "new_run_id": "names",
        "open_store": "store",
        "packed": "rows",
        "salvage": "rescue",
        "unpacked": "rows",
    },
)
