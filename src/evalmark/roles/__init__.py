"""What the rooms ask of each other: protocols, and how foreign objects are named, loaded, told apart and called."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .binding import Binding, bind
    from .clock import Clock
    from .copies import own
    from .defined import object_of
    from .identity import described
    from .loading import check_place, find_in, is_named_object, load_object
    from .modes import EMBEDDING_MODES, EmbeddingMode, in_mode, model_and_mode
    from .origin import NamedInFile, real_path, roots_of
    from .pins import is_installed, pin, told
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
    "NamedInFile",
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
    "check_place",
    "counting",
    "current_tools",
    "current_uses",
    "described",
    "find_in",
    "in_mode",
    "is_installed",
    "is_named_object",
    "load_object",
    "model_and_mode",
    "object_of",
    "own",
    "pin",
    "real_path",
    "roots_of",
    "told",
]

__getattr__ = deferred(
    __name__,
    {
        "bind": "binding",
        "Binding": "binding",
        "ChatModel": "protocols",
        "check_place": "loading",
        "Clock": "clock",
        "counting": "uses",
        "current_tools": "uses",
        "current_uses": "uses",
        "described": "identity",
        "Embedder": "protocols",
        "EMBEDDING_MODES": "modes",
        "EmbeddingCache": "protocols",
        "EmbeddingMode": "modes",
        "find_in": "loading",
        "in_mode": "modes",
        "is_installed": "pins",
        "is_named_object": "loading",
        "Journal": "protocols",
        "Lend": "uses",
        "load_object": "loading",
        "model_and_mode": "modes",
        "NamedInFile": "origin",
        "object_of": "defined",
        "own": "copies",
        "pin": "pins",
        "real_path": "origin",
        "Recorded": "protocols",
        "roots_of": "origin",
        "Scorer": "protocols",
        "Sink": "protocols",
        "Target": "protocols",
        "Threads": "threads",
        "told": "pins",
        "ToolJournal": "protocols",
        "ToolMode": "replaying",
        "ToolReplay": "replaying",
        "TrialTools": "replaying",
        "Uses": "uses",
    },
)
