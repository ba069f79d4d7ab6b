"""Services of the coordinator besides model calls: tool recordings, the vector cache, and embedding servers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalmark.core.context.tool_replay import ToolReplay
from evalmark.core.errors import EvalmarkError
from evalmark.core.protocols import EmbeddingCache
from evalmark.core.values.tool import ToolRecording

from .messages import ServiceRequested, TicketResult

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors
    from evalmark.models.embeddings.cached_embedder import CachedEmbedder


class SharedServices:
    """Serves the requests of workers, one method per service name."""

    def __init__(self, tools: ToolReplay, cache: EmbeddingCache, embedder: "CachedEmbedder | None") -> None:
        self._tools, self._cache, self._embedder = tools, cache, embedder
        self._services: dict[str, Callable[..., Awaitable[Any]]] = {
            "claim": self._claim,
            "find": self._find,
            "keep": self._keep,
            "failed": self._failed,
            "vectors": self._vectors,
            "keep_vectors": self._keep_vectors,
            "embed": self._embed,
        }

    async def perform(self, wanted: ServiceRequested) -> TicketResult:
        """Run a service and return its result or its error."""
        try:
            return TicketResult(wanted.ticket, await self._services[wanted.service](*wanted.arguments))
        except EvalmarkError as error:
            return TicketResult(wanted.ticket, error)

    async def _claim(self, tool: str, version: str, home: str) -> None:
        self._tools.claim(tool, version, home)

    async def _find(self, key: str) -> ToolRecording | None:
        return await asyncio.to_thread(self._tools.find, key)

    async def _keep(self, recording: ToolRecording) -> ToolRecording:
        return await asyncio.to_thread(self._tools.keep, recording)

    async def _failed(self) -> None:
        self._tools.failed()

    async def _vectors(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        found = await self._cache.get(fingerprint, texts)
        if self._embedder is not None:
            await self._embedder.count(texts)
        return found

    async def _keep_vectors(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
        await self._cache.put(fingerprint, vectors)

    async def _embed(self, texts: Sequence[str]) -> Any:
        if self._embedder is None:
            raise LookupError("this run has no embedding model")
        return await self._embedder(texts)
