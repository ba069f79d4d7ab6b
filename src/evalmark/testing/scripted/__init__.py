"""A local server that speaks the wire formats of model providers and fails in scripted ways.

It is for tests of code that calls OpenAI, Azure, Anthropic or Gemini: it checks that requests are as the provider documents
them, and replies with what the test says.
"""

from typing import TYPE_CHECKING

from evalmark.core.lazy import deferred

if TYPE_CHECKING:
    from .requests import ScriptedRequest
    from .responses import (
        Cut,
        Delay,
        Endless,
        FinishWith,
        HeadersOnly,
        Huge,
        Misbehavior,
        ModelRefusal,
        NoUsage,
        OddUsage,
        Raw,
        Reset,
        ScriptedReply,
        ScriptedResponse,
        Slow,
        Status,
        Unsupported,
    )
    from .server import ScriptedServer

__all__ = [
    "Cut",
    "Delay",
    "Endless",
    "FinishWith",
    "HeadersOnly",
    "Huge",
    "Misbehavior",
    "ModelRefusal",
    "NoUsage",
    "OddUsage",
    "Raw",
    "Reset",
    "ScriptedReply",
    "ScriptedRequest",
    "ScriptedResponse",
    "ScriptedServer",
    "Slow",
    "Status",
    "Unsupported",
]

__getattr__ = deferred(
    __name__,
    {
        **dict.fromkeys(__all__, f"{__name__}.responses"),
        "ScriptedRequest": f"{__name__}.requests",
        "ScriptedServer": f"{__name__}.server",
    },
)
