"""The Ray actors: a worker on its own thread, and an embedding model."""

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from evalmark.core.errors import EvalmarkError, ModelError
from evalmark.core.protocols import Embedder
from evalmark.models.embeddings.cached_embedder import CachedEmbedder
from evalmark.runs.engine.work import Work
from evalmark.runs.planning.check import raise_faults
from evalmark.runs.planning.models import ModelFactory, ModelGateway
from evalmark.runs.session.run_session import RunSession
from evalmark.runs.tool_replay.remote_tools import RemoteTools

from .channel import Channel
from .messages import SendNow, TicketResult, ToCoordinator, ToWorker
from .payload import EmbedderSpec, JobSpec, adopt_environment, unpack
from .remote import RemoteEmbedder, RemoteGateway, RemoteVectorCache
from .worker import Worker

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors
    from evalmark.runs.session.run_store import RunStore

    from .payload import Payload


class WorkerActor:
    """A worker with an event loop on its own thread, so that blocking code does not delay messages."""

    def __init__(self, linger: float) -> None:
        self._linger = linger
        self._has_messages = asyncio.Event()
        self._channel: Channel
        self._worker: Worker
        self._loop: asyncio.AbstractEventLoop
        self._fault = ""

    async def start(self, payload: "Payload", pool: Sequence[Any]) -> str:
        """Start the worker; return why it cannot start, or an empty text."""
        call_soon, ready = asyncio.get_running_loop().call_soon_threadsafe, asyncio.Event()
        self._channel = Channel(lambda: call_soon(self._has_messages.set))

        def work() -> None:
            try:
                asyncio.run(self._work(payload, pool, lambda: call_soon(ready.set)))
            except BaseException as error:  # noqa: BLE001  foreign code: reported to the coordinator
                self._fault = str(error) if isinstance(error, EvalmarkError) else f"{type(error).__name__}: {error}"
            call_soon(ready.set)
            call_soon(self._has_messages.set)

        threading.Thread(target=work, name="evalmark", daemon=True).start()
        await ready.wait()
        return self._fault

    async def _work(self, payload: "Payload", pool: Sequence[Any], ready: Callable[[], object]) -> None:
        if (own_version := version("evalmark")) != payload.version:
            raise EvalmarkError(
                f"a worker has evalmark {own_version}, but the run was started with {payload.version}; install the same version on every node."
            )
        adopt_environment(payload)
        models = ModelFactory(settings=payload.settings)
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
        await self._has_messages.wait()
        if self._linger:
            await asyncio.sleep(self._linger)
        self._has_messages.clear()
        messages = self._channel.fetch()
        if self._fault:
            if not messages:
                raise RuntimeError(self._fault)
            self._has_messages.set()  # so that the next call reports the fault
        return messages

    async def pid(self) -> int:
        """Return the process id."""
        return os.getpid()


def build_work(job: JobSpec, models: ModelFactory, channel: Channel, pool: Sequence[Any]) -> Work:
    """Bind the targets and scorers of the plan to the models, tools and vectors of the coordinator."""
    plan = job.plan
    if fingerprint := job.embedding_fingerprint:
        embedder: Embedder = EmbeddingPool(pool, fingerprint) if job.pooled else RemoteEmbedder(channel, fingerprint)
        plan = replace(plan, embedder=embedder)
    run_session = RunSession(models.settings, _no_store, models=models)
    run_session.gateway, run_session.tools = (
        RemoteGateway(models, channel),
        RemoteTools(channel.request_in_thread, models.settings.replay),
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
                spec: EmbedderSpec = unpack(self._payload, ModelFactory(settings=self._payload.settings))
                embedder = CachedEmbedder(spec.embedder)
                if (actual := await asyncio.to_thread(getattr, embedder, "fingerprint")) != spec.fingerprint:
                    raise ModelError(
                        f"a worker has the embedding model {actual}, but the run was started with {spec.fingerprint}; put "
                        "the same files on every node."
                    )
                self._embedder = embedder
            return self._embedder


class EmbeddingPool:
    """The embedding actors of a run as one embedder; a text always goes to the same actor."""

    def __init__(self, actors: Sequence[Any], fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self._actors = actors

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector per text, in order."""
        by_actor: dict[int, list[int]] = {}
        for index, text in enumerate(texts):
            by_actor.setdefault(crc32(text.encode(errors="surrogatepass")) % len(self._actors), []).append(index)
        parts = await asyncio.gather(
            *(self._embed(actor, [texts[i] for i in indices]) for actor, indices in by_actor.items())
        )
        vectors = np.zeros((len(texts), parts[0].shape[1]), np.float32)
        for indices, rows in zip(by_actor.values(), parts, strict=True):
            vectors[indices] = rows
        return vectors

    async def _embed(self, actor: int, texts: list[str]) -> "Vectors":
        vectors: Vectors = await self._actors[actor].embed.remote(texts)
        return vectors
