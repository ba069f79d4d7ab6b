"""What a run would do, before anything of it is done."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .foreseeing import foresee

__all__ = ["foresee"]

__getattr__ = deferred(__name__, {"foresee": "foreseeing"})
