"""Runs and the vectors of texts, in one SQLite file."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .browsing import Browsing, CaseRow, Endings, Found, Kept
    from .health import Health
    from .names import new_run_id
    from .rescue import Salvaged, salvage
    from .rows import Packed, packed, unpacked
    from .store import Store, open_store
    from .wanted import Order, Wanted

__all__ = [
    "Browsing",
    "CaseRow",
    "Endings",
    "Found",
    "Health",
    "Kept",
    "Order",
    "Packed",
    "Salvaged",
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
        "CaseRow": "browsing",
        "Endings": "browsing",
        "Found": "browsing",
        "Health": "health",
        "Kept": "browsing",
        "Order": "wanted",
        "Packed": "rows",
        "Salvaged": "rescue",
        "Store": "store",
        "Wanted": "wanted",
        "new_run_id": "names",
        "open_store": "store",
        "packed": "rows",
        "salvage": "rescue",
        "unpacked": "rows",
    },
)
