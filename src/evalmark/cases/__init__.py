"""Readers: files and Python values in, cases out, with every fault in its place."""

from typing import TYPE_CHECKING

from evalmark.documents import allowed_path, safe_path
from evalmark.errors import deferred

if TYPE_CHECKING:
    from .fields import SYNONYMS
    from .options import BadRow, ReadOptions
    from .read import READERS, as_cases, check_cases, dataset_name, read_cases

__all__ = [
    "READERS",
    "SYNONYMS",
    "BadRow",
    "ReadOptions",
    "allowed_path",
    "as_cases",
    "check_cases",
    "dataset_name",
    "read_cases",
    "safe_path",
]

__getattr__ = deferred(
    __name__,
    {
        "BadRow": "options",
        "READERS": "read",
        "ReadOptions": "options",
        "SYNONYMS": "fields",
        "as_cases": "read",
        "check_cases": "read",
        "dataset_name": "read",
        "read_cases": "read",
    },
)
