"""Everything that is asked for at about the same time, embedded once, together."""

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
"""Characters after which a batch takes no more texts: some seconds of a small model's work, then kept for good."""
_QUIET = 2
"""Turns of the event loop without a new text after which a batch is taken to be complete."""


@runtime_checkable
class HasTokenLimit(Protocol):
    """An embedder that reads only the start of a long text."""

    @property
    def longest(self) -> int:
        """Tokens of a text that it reads."""
        ...

    def too_long(self, texts: Sequence[str]) -> int:
        """How many of the texts are cut."""
        ...


@runtime_checkable
class HasNotes(Protocol):
    """An embedder with something to say to the reader of the results."""

    def notes(self) -> tuple[str, ...]: ...


@dataclass(slots=True)
class MemoryVectorCache:
    """The vectors of the last texts, but not the texts."""

    limit: int = 20_000
    _kept: "OrderedDict[tuple[str, int, int], Vectors]" = field(default_factory=OrderedDict)

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """The known ones of `texts`."""
        found = ((text, self._kept.get(_key(fingerprint, text))) for text in texts)
        return {text: vector for text, vector in found if vector is not None}

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
        """Keep these, and forget the oldest beyond the limit."""
        self._kept.update({_key(fingerprint, text): vector for text, vector in vectors.items()})
        while len(self._kept) > self.limit:
            self._kept.popitem(last=False)


def _key(fingerprint: str, text: str) -> tuple[str, int, int]:
    return fingerprint, hash(text), len(text)


@dataclass(slots=True, eq=False)
class _Batch:
    """Texts that are embedded together, and everyone who waits for one of them."""

    done: "asyncio.Future[None]"
    texts: list[str] = field(default_factory=list)
    size: int = 0
    vectors: "Mapping[str, Vectors]" = field(default_factory=dict)
    error: BaseException | None = None


@dataclass(slots=True, eq=False)
class _BatchQueue:
    """The work of one event loop: batches in order, the last one still open. Empty when nobody waits."""

    batches: deque[_Batch] = field(default_factory=deque)
    where: dict[str, _Batch] = field(default_factory=dict)
    worker: "asyncio.Task[None] | None" = None

    def join(self, text: str) -> _Batch:
        """The batch that will have this text's vector."""
        if found := self.where.get(text):
            return found
        if not self.batches or self.batches[-1].size >= MAX_BATCH_CHARS:
            self.batches.append(_Batch(asyncio.get_running_loop().create_future()))
        batch = self.where[text] = self.batches[-1]
        batch.texts.append(text)
        batch.size += len(text)
        return batch

    def close(self, batch: _Batch, error: BaseException | None) -> None:
        """Wake those who wait for this batch."""
        for text in batch.texts:
            self.where.pop(text, None)
        batch.error = error
        if not batch.done.done():
            batch.done.set_result(None)


class CachedEmbedder:
    """An embedder that gathers what is asked for at the same time, asks the cache, and embeds each text once.

    Many callers may wait for it at once, on any number of event loops. When a batch fails, it fails
    for those who asked for a text of it; later calls try again.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache | None = None) -> None:
        self._embedder = embedder
        self._memory = MemoryVectorCache()
        self._cache: EmbeddingCache = self._memory if cache is None else cache
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _BatchQueue] = WeakKeyDictionary()
        self._seen: set[int] = set()
        self._cut = 0

    @property
    def fingerprint(self) -> str:
        """That of the embedder inside."""
        return self._embedder.fingerprint

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """One vector a text, in order.

        Raises:
            ModelError: the embedder failed, or returned something else than vectors.
        """
        cleaned = clean_texts(texts)
        if not cleaned:
            return np.zeros((0, 0), np.float32)
        line = self._lines.setdefault(asyncio.get_running_loop(), _BatchQueue())
        batches = {text: line.join(text) for text in cleaned}
        if line.worker is None:
            line.worker = asyncio.create_task(self._work(line))
        # `wait` leaves the batch alone when this caller is cancelled: others may wait for it too.
        await asyncio.wait({batch.done for batch in batches.values()})
        if error := next((batch.error for batch in batches.values() if batch.error), None):
            raise error
        return np.stack([batches[text].vectors[text] for text in cleaned])

    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know, such as how many texts were cut."""
        inner = self._embedder.notes() if isinstance(self._embedder, HasNotes) else ()
        if not self._cut or not isinstance(self._embedder, HasTokenLimit):
            return inner
        be = "was" if self._cut == 1 else "were"
        longest = f"longer than the model's {self._embedder.longest} tokens"
        return (*inner, f"{self._cut} of {len(self._seen)} texts {be} {longest} and {be} cut.")

    async def _work(self, line: _BatchQueue) -> None:
        """Serve the line until it is empty."""
        batch: _Batch | None = None
        try:
            while line.batches:
                await _settled(line)
                batch = line.batches.popleft()
                line.close(batch, await self._serve(batch))
                batch = None
        finally:  # the loop is being shut down, if anything is left
            line.worker = None
            for left in filter(None, (batch, *line.batches)):
                line.close(left, asyncio.CancelledError())
            line.batches.clear()

    async def _serve(self, batch: _Batch) -> BaseException | None:
        """Fill the batch, or say why not."""
        try:
            fingerprint = await asyncio.to_thread(getattr, self._embedder, "fingerprint")
            vectors = await self._known(fingerprint, batch.texts)
            if missing := [text for text in batch.texts if text not in vectors]:
                rows = validate_vectors(await self._embedder(missing), len(missing), fingerprint)
                fresh = dict(zip(missing, rows, strict=True))
                await self._cache.put(fingerprint, fresh)
                vectors |= fresh
            await self._memory.put(fingerprint, vectors)
            await self.count(batch.texts)
        except EvalmarkError as error:
            return error
        except (Exception, SystemExit) as error:  # noqa: BLE001  foreign code: its failure belongs to its callers
            return ModelError(f"The embedder {self.fingerprint} raised {type(error).__name__}: {error}")
        batch.vectors = vectors
        return None

    async def _known(self, fingerprint: str, texts: Sequence[str]) -> "dict[str, Vectors]":
        """What this process remembers, and what the cache has of the rest."""
        known = dict(await self._memory.get(fingerprint, texts))
        unknown = [text for text in texts if text not in known]
        return known | dict(await self._cache.get(fingerprint, unknown)) if unknown else known

    async def count(self, texts: Sequence[str]) -> None:
        """Keep count of the distinct texts, and of those that are cut; also of such as were embedded elsewhere."""
        new = [text for text in texts if hash(text) not in self._seen]
        self._seen.update(map(hash, new))
        if isinstance(self._embedder, HasTokenLimit):
            self._cut += await asyncio.to_thread(self._embedder.too_long, new)


async def _settled(line: _BatchQueue) -> None:
    """Return when the first batch is full, or when no text has joined it for some turns of the event loop."""
    batch, quiet = line.batches[0], 0
    while quiet < _QUIET and batch.size < MAX_BATCH_CHARS and len(line.batches) == 1:
        before = len(batch.texts)
        await asyncio.sleep(0)
        quiet = quiet + 1 if len(batch.texts) == before else 0
