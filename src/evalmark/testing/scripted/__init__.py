"""A local server that speaks the wire formats of model providers and misbehaves on script."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import deferred

if TYPE_CHECKING:
    from .misbehave import (
        Answer,
        Cut,
        Delay,
        Endless,
        Finish,
        HeadersOnly,
        Huge,
        Misbehave,
        NoUsage,
        OddUsage,
        Raw,
        Refusal,
        Reset,
        Says,
        Slow,
        Status,
        Unsupported,
    )
    from .said import Said
    from .server import ScriptedServer

__all__ = [
    "Answer",
    "Cut",
    "Delay",
    "Endless",
    "Finish",
    "HeadersOnly",
    "Huge",
    "Misbehave",
    "NoUsage",
    "OddUsage",
    "Raw",
    "Refusal",
    "Reset",
    "Said",
    "Says",
    "ScriptedServer",
    "Slow",
    "Status",
    "Unsupported",
]

__getattr__ = deferred(
    __name__,
    {
        **dict.fromkeys(__all__, f"{__name__}.misbehave"),
        "Said": f"{__name__}.said",
        "ScriptedServer": f"{__name__}.server",
    },
)
