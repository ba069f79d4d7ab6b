"""Runs and the vectors of texts, in one SQLite file."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .health import Health
    from .names import new_run_id
    from .rescue import Salvaged, salvage
    from .rows import Packed, packed, unpacked
    from .store import Store, open_store

__all__ = [
    "Health",
    "Packed",
    "Salvaged",
    "Store",
    "new_run_id",
    "open_store",
    "packed",
    "salvage",
    "unpacked",
]

__getattr__ = deferred(
    __name__,
    {
        "Health": "health",
        "Packed": "rows",
        "Salvaged": "rescue",
        "Store": "store",
        "new_run_id": "names",
        "open_store": "store",
        "packed": "rows",
        "salvage": "rescue",
        "unpacked": "rows",
    },
)
