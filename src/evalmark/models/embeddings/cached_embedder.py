"""An embedder that batches concurrent requests and caches vectors."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from evalmark.core.errors import EvalmarkError, ModelError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import Embedder, EmbeddingCache

from .vectors import clean_texts, validate_vectors

if TYPE_CHECKING:
    import numpy as np

    from evalmark.core.protocols import Vectors
else:
    np = LazyModule("numpy")


MAX_BATCH_CHARS = 131_072
"""Characters from which a batch is full: a few seconds of work for a small model."""
_QUIET = 2
"""Iterations of the event loop without a new text after which a batch is embedded."""


@runtime_checkable
class HasTokenLimit(Protocol):
    """An embedder that truncates long texts."""

    @property
    def longest(self) -> int:
        """The number of tokens that it reads of a text."""
        ...

    def too_long(self, texts: Sequence[str]) -> int:
        """Return how many of the texts are truncated."""
        ...


@dataclass(slots=True)
class MemoryVectorCache:
    """A cache of vectors in memory, by hashes of the texts."""

    limit: int = 20_000
    _kept: "OrderedDict[tuple[str, int, int], Vectors]" = field(default_factory=OrderedDict)

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """Return the vectors of those texts that are in the cache."""
        found = ((text, self._kept.get(_key(fingerprint, text))) for text in texts)
        return {text: vector for text, vector in found if vector is not None}

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
        """Add vectors, and remove the oldest beyond the limit."""
        self._kept.update({_key(fingerprint, text): vector for text, vector in vectors.items()})
        while len(self._kept) > self.limit:
            self._kept.popitem(last=False)


def _key(fingerprint: str, text: str) -> tuple[str, int, int]:
    return fingerprint, hash(text), len(text)


@dataclass(slots=True, eq=False)
class _Batch:
    """Texts that are embedded together, and an event for the callers that wait for them."""

    done: asyncio.Event = field(default_factory=asyncio.Event)
    texts: list[str] = field(default_factory=list)
    size: int = 0
    vectors: "Mapping[str, Vectors]" = field(default_factory=dict)
    error: BaseException | None = None


@dataclass(slots=True, eq=False)
class _BatchQueue:
    """The batches of one event loop in order; the last one is open for more texts."""

    batches: deque[_Batch] = field(default_factory=deque)
    where: dict[str, _Batch] = field(default_factory=dict)
    worker: "asyncio.Task[None] | None" = None

    def join(self, text: str) -> _Batch:
        """Return the batch with this text; add the text to the open batch if there is none."""
        if found := self.where.get(text):
            return found
        if not self.batches or self.batches[-1].size >= MAX_BATCH_CHARS:
            self.batches.append(_Batch())
        batch = self.where[text] = self.batches[-1]
        batch.texts.append(text)
        batch.size += len(text)
        return batch

    def close(self, batch: _Batch, error: BaseException | None) -> None:
        """Wake the callers that wait for a batch."""
        for text in batch.texts:
            self.where.pop(text, None)
        batch.error = error
        batch.done.set()


class CachedEmbedder:
    """An embedder that batches the texts of concurrent calls, looks them up in a cache, and embeds each text once.

    It may be used from several event loops. If a batch fails, the calls with a text in it fail; later calls try again.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache | None = None) -> None:
        self._embedder = embedder
        self._memory = MemoryVectorCache()
        self._cache: EmbeddingCache = self._memory if cache is None else cache
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _BatchQueue] = WeakKeyDictionary()
        self._seen: set[int] = set()
        self._cut = 0

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the wrapped embedder."""
        return self._embedder.fingerprint

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector for each text, in order.

        Raises:
            ModelError: The embedder failed, or did not return vectors.
        """
        cleaned = clean_texts(texts)
        if not cleaned:
            return np.zeros((0, 0), np.float32)
        queue = self._queues.setdefault(asyncio.get_running_loop(), _BatchQueue())
        batches = {text: queue.join(text) for text in cleaned}
        if queue.worker is None:
            queue.worker = asyncio.create_task(self._work(queue))
        for batch in dict.fromkeys(batches.values()):
            await batch.done.wait()
        if error := next((batch.error for batch in batches.values() if batch.error), None):
            raise error
        return np.array([batches[text].vectors[text] for text in cleaned])

    def notes(self) -> tuple[str, ...]:
        """Notes for the report, such as the number of truncated texts."""
        inner: tuple[str, ...] = self._embedder.notes() if hasattr(self._embedder, "notes") else ()
        if not self._cut or not isinstance(self._embedder, HasTokenLimit):
            return inner
        be = "was" if self._cut == 1 else "were"
        longest = f"longer than the model's {self._embedder.longest} tokens"
        return (*inner, f"{self._cut} of {len(self._seen)} texts {be} {longest} and {be} truncated.")

    async def _work(self, queue: _BatchQueue) -> None:
        batch: _Batch | None = None
        try:
            while queue.batches:
                await _wait_until_complete(queue)
                batch = queue.batches.popleft()
                queue.close(batch, await self._serve(batch))
                batch = None
        finally:  # batches are left only if the loop is shutting down
            queue.worker = None
            for left in filter(None, (batch, *queue.batches)):
                queue.close(left, asyncio.CancelledError())
            queue.batches.clear()

    async def _serve(self, batch: _Batch) -> BaseException | None:
        """Embed a batch; return the error if it fails."""
        try:
            fingerprint = await asyncio.to_thread(getattr, self._embedder, "fingerprint")
            vectors = await self._look_up(fingerprint, batch.texts)
            if missing := [text for text in batch.texts if text not in vectors]:
                rows = validate_vectors(await self._embedder(missing), len(missing), fingerprint)
                fresh = dict(zip(missing, rows, strict=True))
                await self._cache.put(fingerprint, fresh)
                vectors |= fresh
            await self._memory.put(fingerprint, vectors)
            await self.count(batch.texts)
        except EvalmarkError as error:
            return error
        except (Exception, SystemExit) as error:  # noqa: BLE001  code of the user; the error goes to the callers
            return ModelError(f"The embedder {self.fingerprint} raised {type(error).__name__}: {error}")
        batch.vectors = vectors
        return None

    async def _look_up(self, fingerprint: str, texts: Sequence[str]) -> "dict[str, Vectors]":
        known = dict(await self._memory.get(fingerprint, texts))
        unknown = [text for text in texts if text not in known]
        return known | dict(await self._cache.get(fingerprint, unknown)) if unknown else known

    async def count(self, texts: Sequence[str]) -> None:
        """Count distinct and truncated texts; also called for texts embedded in another process."""
        new = [text for text in texts if hash(text) not in self._seen]
        self._seen.update(map(hash, new))
        if isinstance(self._embedder, HasTokenLimit):
            self._cut += await asyncio.to_thread(self._embedder.too_long, new)


async def _wait_until_complete(queue: _BatchQueue) -> None:
    """Wait until the first batch is full, or no text has been added for some iterations of the event loop."""
    batch, quiet = queue.batches[0], 0
    while quiet < _QUIET and batch.size < MAX_BATCH_CHARS and len(queue.batches) == 1:
        before = len(batch.texts)
        await asyncio.sleep(0)
        quiet = quiet + 1 if len(batch.texts) == before else 0
