"""Runs and results as rows of a database, and read back one at a time."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .names import new_run_id
    from .rows import Packed, packed, unpacked
    from .stored import StoredResults

__all__ = ["Packed", "StoredResults", "new_run_id", "packed", "unpacked"]

__getattr__ = deferred(
    __name__,
    {
        "Packed": "rows",
        "StoredResults": "stored",
        "new_run_id": "names",
        "packed": "rows",
        "unpacked": "rows",
    },
)
