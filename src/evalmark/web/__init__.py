"""The viewer: pages over the runs of a store, for a browser on this machine. It needs the extra `view`."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .site import pages

__all__ = ["pages"]

__getattr__ = deferred(__name__, {"pages": "site"})
