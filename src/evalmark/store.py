"""The store of runs, results, recorded calls, sessions and labels: one SQLite file or a PostgreSQL schema."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.storage.store.health import Health
    from evalmark.storage.store.salvage import SalvageReport, salvage
    from evalmark.storage.store.store import Store, open_store

__all__ = [
    "Health",
    "SalvageReport",
    "Store",
    "open_store",
    "salvage",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "Health": "evalmark.storage.store.health",
        "SalvageReport": "evalmark.storage.store.salvage",
        "Store": "evalmark.storage.store.store",
        "open_store": "evalmark.storage.store.store",
        "salvage": "evalmark.storage.store.salvage",
    },
)
