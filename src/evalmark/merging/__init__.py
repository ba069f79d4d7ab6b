"""Several runs as one."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .lost import LOST, alone, missing
    from .parts import merged
    from .shards import faults, is_merged, origin, whole

__all__ = ["LOST", "alone", "faults", "is_merged", "merged", "missing", "origin", "whole"]

__getattr__ = deferred(
    __name__,
    {
        "LOST": "lost",
        "alone": "lost",
        "faults": "shards",
        "is_merged": "shards",
        "merged": "parts",
        "missing": "lost",
        "origin": "shards",
        "whole": "shards",
    },
)
