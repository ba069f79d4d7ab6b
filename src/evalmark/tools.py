"""Tools of agents under test: record their calls, and replay them in later runs."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.runs.tool_replay.replay import replayed

__all__ = [
    "replayed",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "replayed": "evalmark.runs.tool_replay.replay",
    },
)
