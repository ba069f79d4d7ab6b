"""The door to chat and embedding models over HTTP: one call is one attempt, and nothing is kept or repeated here.

Each name loads its file at first use, so that looking a model's name up does not load an HTTP client.
"""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .embeddings import RemoteEmbedder, open_embedder
    from .http import Http, Response
    from .names import Endpoint, find_endpoint, missing_key
    from .opening import open_chat

__all__ = [
    "Endpoint",
    "Http",
    "RemoteEmbedder",
    "Response",
    "find_endpoint",
    "missing_key",
    "open_chat",
    "open_embedder",
]

__getattr__ = deferred(
    __name__,
    {
        "Endpoint": "names",
        "Http": "http",
        "RemoteEmbedder": "embeddings",
        "Response": "http",
        "find_endpoint": "names",
        "missing_key": "names",
        "open_chat": "opening",
        "open_embedder": "embeddings",
    },
)
