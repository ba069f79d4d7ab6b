"""Runs and results as rows of a database, and read back one at a time."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .masked import masked_id, masked_result, note_on
    from .names import new_run_id
    from .rows import Packed, packed, unpacked
    from .stored import StoredResults

__all__ = ["Packed", "StoredResults", "masked_id", "masked_result", "new_run_id", "note_on", "packed", "unpacked"]

__getattr__ = deferred(
    __name__,
    {
        "Packed": "rows",
        "StoredResults": "stored",
        "masked_id": "masked",
        "masked_result": "masked",
        "new_run_id": "names",
        "note_on": "masked",
        "packed": "rows",
        "unpacked": "rows",
    },
)
