"""Several runs as one."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .lost import LOST
    from .parts import merged
    from .shards import origin, whole

__all__ = ["LOST", "merged", "origin", "whole"]

__getattr__ = deferred(__name__, {"LOST": "lost", "merged": "parts", "origin": "shards", "whole": "shards"})
