"""What the rooms ask of each other: protocols, and how foreign objects are named, loaded, told apart and called."""

from .binding import Binding, bind
from .identity import described
from .loading import is_named_object, load_object
from .protocols import Embedder, EmbeddingCache, Recorded, Scorer, Sink, Target

__all__ = [
    "Binding",
    "Embedder",
    "EmbeddingCache",
    "Recorded",
    "Scorer",
    "Sink",
    "Target",
    "bind",
    "described",
    "is_named_object",
    "load_object",
]
