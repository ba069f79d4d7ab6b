"""Runs trials in other processes and on other machines: a desk that decides and writes, and hands that do."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .crew import Crew, CrewError, HandLostError, Member
    from .desk import Duty, run_elsewhere
    from .errands import Errands
    from .hand import Hand
    from .offers import Offers
    from .post import Post
    from .shared import DeskDoor, DeskTools
    from .site import Site, opened
    from .start import Where, where

__all__ = [
    "Crew",
    "CrewError",
    "DeskDoor",
    "DeskTools",
    "Duty",
    "Errands",
    "Hand",
    "HandLostError",
    "Member",
    "Offers",
    "Post",
    "Site",
    "Where",
    "opened",
    "run_elsewhere",
    "where",
]

__getattr__ = deferred(
    __name__,
    {
        "Crew": "crew",
        "CrewError": "crew",
        "DeskDoor": "shared",
        "DeskTools": "shared",
        "Duty": "desk",
        "Errands": "errands",
        "Hand": "hand",
        "HandLostError": "crew",
        "Member": "crew",
        "Offers": "offers",
        "Post": "post",
        "Site": "site",
        "Where": "start",
        "opened": "site",
        "run_elsewhere": "desk",
        "where": "start",
    },
)
