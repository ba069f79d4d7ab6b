"""Tools of agents under test: what they gave is recorded, and used again."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .replay import replayed

__all__ = ["replayed"]

__getattr__ = deferred(__name__, {"replayed": "replay"})
