"""What the rooms ask of each other: protocols, and how foreign objects are named, loaded and called."""

from .binding import Binding, bind
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
    "is_named_object",
    "load_object",
]
