"""Embedding models: the local one without torch, and everybody else's behind one protocol."""

from .cached import CachedEmbedder, MemoryCache
from .foreign import as_embedder
from .loading import load_embedder
from .local import LocalEmbedder
from .routes import routes
from .weights import KNOWN, KnownModel, Progress, cache_folder, find_weights, get_weights, known_model

__all__ = [
    "KNOWN",
    "CachedEmbedder",
    "KnownModel",
    "LocalEmbedder",
    "MemoryCache",
    "Progress",
    "as_embedder",
    "cache_folder",
    "find_weights",
    "get_weights",
    "known_model",
    "load_embedder",
    "routes",
]
