"""Several runs as one."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .parts import merged

__all__ = ["merged"]

__getattr__ = deferred(__name__, {"merged": "parts"})
