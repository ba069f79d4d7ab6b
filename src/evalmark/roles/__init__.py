"""What the rooms ask of each other: protocols, and how foreign objects are named, loaded, told apart and called."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .binding import Binding, bind
    from .clock import Clock
    from .copies import own
    from .identity import described
    from .loading import is_named_object, load_object
    from .modes import EMBEDDING_MODES, EmbeddingMode, in_mode, model_and_mode
    from .protocols import ChatModel, Embedder, EmbeddingCache, Journal, Recorded, Scorer, Sink, Target, ToolJournal
    from .replaying import ToolMode, ToolReplay, TrialTools
    from .threads import Threads
    from .uses import Lend, Uses, counting, current_tools, current_uses

__all__ = [
    "EMBEDDING_MODES",
    "Binding",
    "ChatModel",
    "Clock",
    "Embedder",
    "EmbeddingCache",
    "EmbeddingMode",
    "Journal",
    "Lend",
    "Recorded",
    "Scorer",
    "Sink",
    "Target",
    "Threads",
    "ToolJournal",
    "ToolMode",
    "ToolReplay",
    "TrialTools",
    "Uses",
    "bind",
    "counting",
    "current_tools",
    "current_uses",
    "described",
    "in_mode",
    "is_named_object",
    "load_object",
    "model_and_mode",
    "own",
]

__getattr__ = deferred(
    __name__,
    {
        "Binding": "binding",
        "ChatModel": "protocols",
        "Clock": "clock",
        "Embedder": "protocols",
        "EMBEDDING_MODES": "modes",
        "EmbeddingCache": "protocols",
        "EmbeddingMode": "modes",
        "Journal": "protocols",
        "Lend": "uses",
        "Recorded": "protocols",
        "Scorer": "protocols",
        "Sink": "protocols",
        "Target": "protocols",
        "Threads": "threads",
        "ToolJournal": "protocols",
        "ToolMode": "replaying",
        "ToolReplay": "replaying",
        "TrialTools": "replaying",
        "Uses": "uses",
        "bind": "binding",
        "counting": "uses",
        "current_tools": "uses",
        "current_uses": "uses",
        "described": "identity",
        "in_mode": "modes",
        "is_named_object": "loading",
        "load_object": "loading",
        "model_and_mode": "modes",
        "own": "copies",
    },
)
