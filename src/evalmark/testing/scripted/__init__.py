"""A local server with the APIs of model providers, which fails in scripted ways.

It is for tests of code that calls OpenAI, Azure, Anthropic or Gemini: it checks that requests are as the provider documents
them, and replies with what the test says.
"""

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
