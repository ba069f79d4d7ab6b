"""Readers: files and Python values in, cases out, with every fault in its place."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .dealing import Deal, parse_shard, share
    from .faults import Faults
    from .fields import JUDGED_ANSWER, SYNONYMS, can_ask, named_columns
    from .filtering import CaseFilter, parse_filter
    from .header import Header, read_header
    from .lookalikes import LOOKS_KNOWN
    from .options import BadRow, ReadOptions
    from .read import READERS, as_cases, check_cases, made_cases, read_cases

__all__ = [
    "JUDGED_ANSWER",
    "LOOKS_KNOWN",
    "READERS",
    "SYNONYMS",
    "BadRow",
    "CaseFilter",
    "Deal",
    "Faults",
    "Header",
    "ReadOptions",
    "as_cases",
    "can_ask",
    "check_cases",
    "made_cases",
    "named_columns",
    "parse_filter",
    "parse_shard",
    "read_cases",
    "read_header",
    "share",
]

__getattr__ = deferred(
    __name__,
    {
        "BadRow": "options",
        "CaseFilter": "filtering",
        "Deal": "dealing",
        "Faults": "faults",
        "Header": "header",
        "JUDGED_ANSWER": "fields",
        "LOOKS_KNOWN": "lookalikes",
        "READERS": "read",
        "ReadOptions": "options",
        "SYNONYMS": "fields",
        "as_cases": "read",
        "can_ask": "fields",
        "check_cases": "read",
        "made_cases": "read",
        "named_columns": "fields",
        "parse_filter": "filtering",
        "parse_shard": "dealing",
        "read_cases": "read",
        "read_header": "header",
        "share": "dealing",
    },
)
