"""The Ray actors: a worker on its own thread, and an embedding model."""

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
    """A worker with an event loop on its own thread, so that blocking code does not delay messages."""

    def __init__(self, linger: float) -> None:
        self._linger = linger
        self._said = asyncio.Event()
        self._channel: Channel
        self._worker: Worker
        self._loop: asyncio.AbstractEventLoop
        self._fault = ""

    async def start(self, payload: "Payload", pool: Sequence[Any]) -> str:
        """Start the worker; return why it cannot start, or an empty text."""
        home, ready = asyncio.get_running_loop(), asyncio.Event()
        self._channel = Channel(partial(_call_soon, home, self._said.set))

        def work() -> None:
            try:
                asyncio.run(self._work(payload, pool, partial(_call_soon, home, ready.set)))
            except BaseException as error:  # noqa: BLE001  foreign code: reported to the coordinator
                self._fault = str(error) if isinstance(error, EvalmarkError) else f"{type(error).__name__}: {error}"
            _call_soon(home, ready.set)
            _call_soon(home, self._said.set)

        threading.Thread(target=work, name="evalmark", daemon=True).start()
        await ready.wait()
        return self._fault

    async def _work(self, payload: "Payload", pool: Sequence[Any], ready: Any) -> None:
        if (mine := version("evalmark")) != payload.version:
            raise EvalmarkError(
                f"a worker has evalmark {mine}, but the run was started with {payload.version}; install the same version on every node."
            )
        adopt_environment(payload)
        models = Models(settings=payload.settings)
        try:
            job: JobSpec = unpack(payload, models)
            raise_faults(ModelGateway(models, None).faults(job.plan.chat_models))
            self._loop = asyncio.get_running_loop()
            self._worker = Worker(self._channel, lambda channel: build_work(job, models, channel, pool), job.limits)
            ready()
            await self._worker.run()
        finally:
            await models.close()

    async def send(self, messages: Sequence[ToWorker]) -> None:
        """Handle messages of the coordinator."""
        for message in messages:
            if isinstance(message, SendNow | TicketResult):
                self._channel.take(message)  # in this thread, since the worker's thread may be waiting for it
            else:
                self._loop.call_soon_threadsafe(self._worker.take, (message,))

    async def receive(self) -> Sequence[ToCoordinator]:
        """Wait for messages and return them, after a short delay that collects more."""
        await self._said.wait()
        if self._linger:
            await asyncio.sleep(self._linger)
        self._said.clear()
        said = self._channel.fetch()
        if self._fault:
            if not said:
                raise RuntimeError(self._fault)
            self._said.set()  # so that the next call reports the fault
        return said

    async def pid(self) -> int:
        """Return the process id."""
        return os.getpid()


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """Schedule a call on an event loop from any thread."""
    loop.call_soon_threadsafe(call)


def build_work(job: JobSpec, models: Models, channel: Channel, pool: Sequence[Any]) -> Work:
    """Bind the targets and scorers of the plan to the models, tools and vectors of the coordinator."""
    plan = job.plan
    if fingerprint := job.embedding_fingerprint:
        embedder: Embedder = EmbeddingPool(pool, fingerprint) if job.pooled else RemoteEmbedder(channel, fingerprint)
        plan = replace(plan, embedder=embedder)
    run_session = RunSession(models.settings, _no_store, models=models)
    run_session.gateway, run_session.tools = (
        RemoteGateway(models, channel),
        RemoteTools(channel, models.settings.replay),
    )
    prepared = run_session.bind(plan, lambda: RemoteVectorCache(channel) if job.pooled else None)
    return run_session.work(prepared, (), _NoSink())


def _no_store() -> "RunStore":
    raise EvalmarkError("a worker has no store; the coordinator reads and writes it.")


class _NoSink:
    async def write(self, results: Sequence[Any]) -> None:
        """Not called: the worker replaces this sink by itself."""


class EmbeddingActor:
    """An embedding model that is loaded once and batches the texts of all workers.

    Ray may restart it on another node, where it checks again that the model files are the expected ones.
    """

    def __init__(self, payload: "Payload") -> None:
        self._payload = payload
        self._one_at_a_time = asyncio.Lock()
        self._embedder: CachedEmbedder | None = None

    async def start(self) -> None:
        """Load the model. Raises ModelError if this node has another one."""
        await self._ready()

    async def embed(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector per text, in order. Raises ModelError if this node has another model."""
        embedder = await self._ready()
        return await embedder(texts)

    async def _ready(self) -> CachedEmbedder:
        async with self._one_at_a_time:
            if self._embedder is None:
                adopt_environment(self._payload)
                wanted: EmbedderSpec = unpack(self._payload, Models(settings=self._payload.settings))
                found = CachedEmbedder(wanted.embedder)
                if (mine := await asyncio.to_thread(getattr, found, "fingerprint")) != wanted.fingerprint:
                    raise ModelError(
                        f"a worker has the embedding model {mine}, but the run was started with {wanted.fingerprint}; put "
                        "the same files on every node."
                    )
                self._embedder = found
            return self._embedder


class EmbeddingPool:
    """The embedding actors of a run as one embedder; a text always goes to the same actor."""

    def __init__(self, actors: Sequence[Any], fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self._actors = actors

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector per text, in order."""
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
