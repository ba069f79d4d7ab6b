"""What the rooms ask of each other: protocols, and how foreign objects are named, loaded, told apart and called."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .binding import Binding, bind
    from .copies import own
    from .identity import described
    from .loading import is_named_object, load_object
    from .protocols import Embedder, EmbeddingCache, Recorded, Scorer, Sink, Target
    from .threads import Threads

__all__ = [
    "Binding",
    "Embedder",
    "EmbeddingCache",
    "Recorded",
    "Scorer",
    "Sink",
    "Target",
    "Threads",
    "bind",
    "described",
    "is_named_object",
    "load_object",
    "own",
]

__getattr__ = deferred(
    __name__,
    {
        "Binding": "binding",
        "Embedder": "protocols",
        "EmbeddingCache": "protocols",
        "Recorded": "protocols",
        "Scorer": "protocols",
        "Sink": "protocols",
        "Target": "protocols",
        "Threads": "threads",
        "bind": "binding",
        "described": "identity",
        "is_named_object": "loading",
        "load_object": "loading",
        "own": "copies",
    },
)
