"""Fakes for tests: chat models, embedders, call logs, sinks, a model server, a failing disk, and virtual time."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.testing.chat import ScriptedModel
    from evalmark.testing.embedders import AngleEmbedder, HashEmbedder
    from evalmark.testing.failing_disk import FailingDisk
    from evalmark.testing.memory import MemoryCallLog, MemorySink, MemoryToolLog
    from evalmark.testing.scripted import Delay, ScriptedReply, ScriptedRequest, ScriptedServer, Status
    from evalmark.testing.virtual_time import run_in_virtual_time

__all__ = [
    "AngleEmbedder",
    "Delay",
    "FailingDisk",
    "HashEmbedder",
    "MemoryCallLog",
    "MemorySink",
    "MemoryToolLog",
    "ScriptedModel",
    "ScriptedReply",
    "ScriptedRequest",
    "ScriptedServer",
    "Status",
    "run_in_virtual_time",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "AngleEmbedder": "evalmark.testing.embedders",
        "Delay": "evalmark.testing.scripted",
        "FailingDisk": "evalmark.testing.failing_disk",
        "HashEmbedder": "evalmark.testing.embedders",
        "MemoryCallLog": "evalmark.testing.memory",
        "MemorySink": "evalmark.testing.memory",
        "MemoryToolLog": "evalmark.testing.memory",
        "ScriptedModel": "evalmark.testing.chat",
        "ScriptedReply": "evalmark.testing.scripted",
        "ScriptedRequest": "evalmark.testing.scripted",
        "ScriptedServer": "evalmark.testing.scripted",
        "Status": "evalmark.testing.scripted",
        "run_in_virtual_time": "evalmark.testing.virtual_time",
    },
)
