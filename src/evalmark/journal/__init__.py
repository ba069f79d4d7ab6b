"""The calls of chat models, as the store keeps them: written in groups, found by key, listed, handed on as a file."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .exchange import Imported
    from .keeping import CallJournal, Finder
    from .log import Log
    from .recordings import ModelCalls, Recording
    from .sent import Pass, Sent

__all__ = [
    "CallJournal",
    "Finder",
    "Imported",
    "Log",
    "ModelCalls",
    "Pass",
    "Recording",
    "Sent",
]

__getattr__ = deferred(
    __name__,
    {
        "CallJournal": "keeping",
        "Finder": "keeping",
        "Imported": "exchange",
        "Log": "log",
        "ModelCalls": "recordings",
        "Pass": "sent",
        "Recording": "recordings",
        "Sent": "sent",
    },
)
