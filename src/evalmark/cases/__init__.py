"""Readers: files and Python values in, cases out, with every fault in its place."""

from evalmark.documents import allowed_path, safe_path

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
