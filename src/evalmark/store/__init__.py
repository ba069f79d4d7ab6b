"""Runs and the vectors of texts, in one SQLite file or on a PostgreSQL server."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .health import Health
    from .places import is_there, may_be_written, run_at, told_place
    from .rescue import Salvaged, salvage
    from .store import Store, open_store

__all__ = [
    "Health",
    "Salvaged",
    "Store",
    "is_there",
    "may_be_written",
    "open_store",
    "run_at",
    "salvage",
    "told_place",
]

__getattr__ = deferred(
    __name__,
    {
        "Health": "health",
        "Salvaged": "rescue",
        "Store": "store",
        "is_there": "places",
        "may_be_written": "places",
        "open_store": "store",
        "salvage": "rescue",
        "run_at": "places",
        "told_place": "places",
    },
)
