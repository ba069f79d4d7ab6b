"""What runs inside a worker of Ray: a hand on a thread of its own, and an embedder of the pool."""

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from evalmark.core.errors import EvalmarkError, ModelError
from evalmark.core.protocols import Embedder
from evalmark.models.embeddings.cached_embedder import CachedEmbedder
from evalmark.runs.engine.pipeline import Work
from evalmark.runs.planning.check import raise_faults
from evalmark.runs.planning.models import ModelGateway, Models
from evalmark.runs.session.run_session import RunSession

from .channel import Channel
from .messages import SendNow, TicketResult, ToCoordinator, ToWorker
from .payload import EmbedderSpec, JobSpec, adopt_environment, unpack
from .remote import RemoteEmbedder, RemoteGateway, RemoteTools, RemoteVectorCache
from .worker import Worker

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors
    from evalmark.runs.session.run_store import RunStore

    from .payload import Payload


class WorkerActor:
    """A hand; its event loop has a thread of its own, so that code which blocks it does not keep the desk waiting."""

    def __init__(self, linger: float) -> None:
        self._linger = linger
        self._said = asyncio.Event()
        self._post: Channel
        self._hand: Worker
        self._loop: asyncio.AbstractEventLoop
        self._fault = ""

    async def start(self, pack: "Payload", pool: Sequence[Any]) -> str:
        """Get ready; gives why that cannot be, or nothing."""
        home, ready = asyncio.get_running_loop(), asyncio.Event()
        self._post = Channel(partial(_call_soon, home, self._said.set))

        def work() -> None:
            try:
                asyncio.run(self._work(pack, pool, partial(_call_soon, home, ready.set)))
            except BaseException as error:  # noqa: BLE001  the desk is told, whatever it is
                self._fault = str(error) if isinstance(error, EvalmarkError) else f"{type(error).__name__}: {error}"
            _call_soon(home, ready.set)
            _call_soon(home, self._said.set)

        threading.Thread(target=work, name="evalmark", daemon=True).start()
        await ready.wait()
        return self._fault

    async def _work(self, pack: "Payload", pool: Sequence[Any], ready: Any) -> None:
        if (mine := version("evalmark")) != pack.version:
            raise EvalmarkError(f"a worker has evalmark {mine}, and the desk has {pack.version}; install the same.")
        adopt_environment(pack)
        models = Models(settings=pack.settings)
        try:
            brief: JobSpec = unpack(pack, models)
            raise_faults(ModelGateway(models, None).faults(brief.plan.chat_models))
            self._loop = asyncio.get_running_loop()
            self._hand = Worker(self._post, lambda post: build_work(brief, models, post, pool), brief.limits)
            ready()
            await self._hand.run()
        finally:
            await models.close()

    async def tell(self, messages: Sequence[ToWorker]) -> None:
        """Pass on what the desk says."""
        for message in messages:
            if isinstance(message, SendNow | TicketResult):
                self._post.take(message)  # in this thread, since the hand's own may be waiting for it
            else:
                self._loop.call_soon_threadsafe(self._hand.take, (message,))

    async def listen(self) -> Sequence[ToCoordinator]:
        """What the hand has to say, as soon as there is something; a little later where that gathers more."""
        await self._said.wait()
        if self._linger:
            await asyncio.sleep(self._linger)
        self._said.clear()
        said = self._post.fetch()
        if self._fault:
            if not said:
                raise RuntimeError(self._fault)
            self._said.set()  # nothing else would ring for it
        return said

    async def pid(self) -> int:
        """The process, for those who look after it."""
        return os.getpid()


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """Have something called on a loop, from any thread."""
    loop.call_soon_threadsafe(call)


def build_work(brief: JobSpec, models: Models, post: Channel, pool: Sequence[Any]) -> Work:
    """Return the plan's targets and scorers as work for an engine; models, tools and vectors are asked of the coordinator."""
    plan = brief.plan
    if brief.embeds:
        embedder: Embedder = EmbeddingPool(pool, brief.embeds) if brief.pooled else RemoteEmbedder(post, brief.embeds)
        plan = replace(plan, embedder=embedder)
    session = RunSession(models.settings, _no_store, models=models)
    session.gateway, session.tools = RemoteGateway(models, post), RemoteTools(post, models.settings.replay)
    prepared = session.bind(plan, lambda: RemoteVectorCache(post) if brief.pooled else None)
    return session.work(prepared, (), _NoSink())


def _no_store() -> "RunStore":
    raise EvalmarkError("a worker has no store; the coordinator reads and writes it.")


class _NoSink:
    async def write(self, results: Sequence[Any]) -> None:
        """A hand puts itself in this place."""


class EmbeddingActor:
    """An embedding model that is loaded once; texts that come from several hands at the same time make one batch.

    Ray may start it anew, and on another node: there too it has to be the model that the desk means.
    """

    def __init__(self, pack: "Payload") -> None:
        self._pack = pack
        self._one_at_a_time = asyncio.Lock()
        self._embedder: CachedEmbedder | None = None

    async def start(self) -> None:
        """Get ready. Raises ModelError: here is another model."""
        await self._ready()

    async def embed(self, texts: Sequence[str]) -> "Vectors":
        """One vector a text, in order. Raises ModelError: here is another model."""
        embedder = await self._ready()
        return await embedder(texts)

    async def _ready(self) -> CachedEmbedder:
        async with self._one_at_a_time:
            if self._embedder is None:
                adopt_environment(self._pack)
                wanted: EmbedderSpec = unpack(self._pack, Models(settings=self._pack.settings))
                found = CachedEmbedder(wanted.embedder)
                if (mine := await asyncio.to_thread(getattr, found, "fingerprint")) != wanted.fingerprint:
                    raise ModelError(
                        f"a worker has the embedding model {mine}, and the run was started with {wanted.fingerprint}; put "
                        "the same files on every node."
                    )
                self._embedder = found
            return self._embedder


class EmbeddingPool:
    """The embedding actors of a run as one embedder: each text goes to the same actor each time."""

    def __init__(self, actors: Sequence[Any], fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self._actors = actors

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """One vector a text, in order."""
        places: dict[int, list[int]] = {}
        for index, text in enumerate(texts):
            places.setdefault(crc32(text.encode(errors="surrogatepass")) % len(self._actors), []).append(index)
        found = await asyncio.gather(*(self._embedded(actor, [texts[i] for i in of]) for actor, of in places.items()))
        vectors = np.zeros((len(texts), found[0].shape[1]), np.float32)
        for indices, rows in zip(places.values(), found, strict=True):
            vectors[indices] = rows
        return vectors

    async def _embedded(self, actor: int, texts: list[str]) -> "Vectors":
        vectors: Vectors = await self._actors[actor].embed.remote(texts)
        return vectors
