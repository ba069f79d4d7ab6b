"""Calls of chat models and of tools, as the store keeps them: written, found by key, listed, handed on as a file."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .exchange import Imported
    from .keeping import CallJournal, Finder, Lookups
    from .log import Log
    from .recordings import ModelCalls, Recording
    from .sent import Pass, Sent
    from .tool_keeping import ToolKeeper
    from .tool_recordings import ToolCalls

__all__ = [
    "CallJournal",
    "Finder",
    "Imported",
    "Log",
    "Lookups",
    "ModelCalls",
    "Pass",
    "Recording",
    "Sent",
    "ToolCalls",
    "ToolKeeper",
]

__getattr__ = deferred(
    __name__,
    {
        "CallJournal": "keeping",
        "Finder": "keeping",
        "Imported": "exchange",
        "Log": "log",
        "Lookups": "keeping",
        "ModelCalls": "recordings",
        "Pass": "sent",
        "Recording": "recordings",
        "Sent": "sent",
        "ToolCalls": "tool_recordings",
        "ToolKeeper": "tool_keeping",
    },
)
