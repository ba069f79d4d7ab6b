"""Services of the coordinator besides model calls: tool recordings, the vector cache, and embedding servers."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalmark.core.context.tool_replay import ToolReplay
from evalmark.core.errors import EvalmarkError
from evalmark.core.protocols import EmbeddingCache

from .messages import ServiceRequested, TicketResult

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors
    from evalmark.models.embeddings.cached_embedder import CachedEmbedder


_TOOL_SERVICES = frozenset(("claim", "find", "keep", "failed"))
"""Methods of `ToolReplay` that workers call."""


class SharedServices:
    """Serves the requests of workers: services of `RemoteVectorCache` and `RemoteEmbedder`, and methods of `ToolReplay`."""

    def __init__(self, tools: ToolReplay | None, cache: EmbeddingCache, embedder: "CachedEmbedder | None") -> None:
        self._tools, self._cache, self._embedder = tools, cache, embedder

    async def perform(self, request: ServiceRequested) -> TicketResult:
        """Run a service and return its result or its error."""
        try:
            return TicketResult(request.ticket, await self._run(request))
        except EvalmarkError as error:
            return TicketResult(request.ticket, error)

    def _run(self, request: ServiceRequested) -> Awaitable[Any]:
        if request.service == "vectors":
            return self._vectors(*request.arguments)
        if request.service == "keep_vectors":
            return self._cache.put(*request.arguments)
        if request.service == "embed":
            return self._embed(*request.arguments)
        if self._tools is None or request.service not in _TOOL_SERVICES:
            raise LookupError(f"this run has no service {request.service!r}")
        return asyncio.to_thread(getattr(self._tools, request.service), *request.arguments)

    async def _vectors(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        vectors = await self._cache.get(fingerprint, texts)
        if self._embedder is not None:
            await self._embedder.count(texts)
        return vectors

    async def _embed(self, texts: Sequence[str]) -> Any:
        if self._embedder is None:
            raise LookupError("this run has no embedding model")
        return await self._embedder(texts)
