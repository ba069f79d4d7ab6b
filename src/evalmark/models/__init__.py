"""Embedding models: the local one without torch, and everybody else's behind one protocol.

Each name loads its file at first use, so that asking for weights does not load an array library.
"""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .cached import CachedEmbedder, MemoryCache
    from .foreign import as_embedder
    from .loading import load_embedder
    from .local import LocalEmbedder
    from .routes import routes_for
    from .shelf import LocalModel, get_model, local_models
    from .weights import KNOWN, KnownModel, Progress, cache_folder, find_weights, known_model

__all__ = [
    "KNOWN",
    "CachedEmbedder",
    "KnownModel",
    "LocalEmbedder",
    "LocalModel",
    "MemoryCache",
    "Progress",
    "as_embedder",
    "cache_folder",
    "find_weights",
    "get_model",
    "known_model",
    "load_embedder",
    "local_models",
    "routes_for",
]

__getattr__ = deferred(
    __name__,
    {
        "CachedEmbedder": "cached",
        "KNOWN": "weights",
        "KnownModel": "weights",
        "LocalEmbedder": "local",
        "LocalModel": "shelf",
        "MemoryCache": "cached",
        "Progress": "weights",
        "as_embedder": "foreign",
        "cache_folder": "weights",
        "find_weights": "weights",
        "get_model": "shelf",
        "known_model": "weights",
        "load_embedder": "loading",
        "local_models": "shelf",
        "routes_for": "routes",
    },
)
