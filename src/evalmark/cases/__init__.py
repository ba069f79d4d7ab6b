"""Readers: files and Python values in, cases out, with every fault in its place."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .faults import Faults
    from .fields import SYNONYMS, named_columns
    from .options import BadRow, ReadOptions
    from .read import READERS, as_cases, check_cases, read_cases

__all__ = [
    "READERS",
    "SYNONYMS",
    "BadRow",
    "Faults",
    "ReadOptions",
    "as_cases",
    "check_cases",
    "named_columns",
    "read_cases",
]

__getattr__ = deferred(
    __name__,
    {
        "BadRow": "options",
        "Faults": "faults",
        "READERS": "read",
        "ReadOptions": "options",
        "SYNONYMS": "fields",
        "as_cases": "read",
        "check_cases": "read",
        "named_columns": "fields",
        "read_cases": "read",
    },
)
