"""The calls of chat models, as the store keeps them: written in groups, found by key, listed, handed on as a file."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .exchange import Imported
    from .keeping import CallJournal, Finder, Pass
    from .log import Log
    from .recordings import ModelCalls, Recording

__all__ = [
    "CallJournal",
    "Finder",
    "Imported",
    "Log",
    "ModelCalls",
    "Pass",
    "Recording",
]

__getattr__ = deferred(
    __name__,
    {
        "CallJournal": "keeping",
        "Finder": "keeping",
        "Imported": "exchange",
        "Log": "log",
        "ModelCalls": "recordings",
        "Pass": "keeping",
        "Recording": "recordings",
    },
)
