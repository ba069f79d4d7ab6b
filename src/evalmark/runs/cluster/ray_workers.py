"""Workers and relays in Ray actors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from evalmark.core.lazy import need

from .messages import ToCoordinator, ToWorker
from .payload import Payload
from .ray_actors import EmbeddingActor, WorkerActor
from .ray_connection import error_line
from .relay import MAX_DIRECT_WORKERS, FromGroup, Relay, RelayedWorkerPool, ToGroup
from .worker_pool import NoWorkersError, WorkerLostError

_READY_SECONDS = 120.0
"""Seconds in which a worker has to be ready; Ray waits for ever if no node has a free processor."""
_LINGER = 0.0005
"""Seconds per worker of the pool that a worker collects messages before it sends them: more workers send less often."""


@dataclass(frozen=True, slots=True)
class RayWorkerHandle:
    """The handle of a worker in a Ray actor."""

    actor: Any
    ray: ModuleType

    async def send(self, messages: Sequence[ToWorker]) -> None:
        """Send messages. Raises WorkerLostError if the actor has ended."""
        await call_actor(self.ray, lambda: self.actor.send.remote(list(messages)))

    async def receive(self) -> Sequence[ToCoordinator]:
        """Receive messages. Raises WorkerLostError if the actor has ended."""
        messages: Sequence[ToCoordinator] = await call_actor(self.ray, self.actor.receive.remote)
        return messages


class RayWorkerPool:
    """Workers on the nodes of a cluster, one processor each."""

    def __init__(self, job: Sequence[Any], embedders: Sequence[Any], size: int) -> None:
        """`job` holds the reference to a payload: alone, Ray would replace it by the payload."""
        self.size = size
        self._ray = need("ray", "ray")
        self._job, self._embedders = job, embedders
        options = {"max_restarts": 0, "max_concurrency": 1_000, "num_cpus": 1}
        self._worker = self._ray.remote(**options)(WorkerActor)

    async def start_worker(self) -> RayWorkerHandle:
        """Start a worker on any node.

        Raises:
            NoWorkersError: no node has a free processor, or the worker cannot start.
            WorkerLostError: it ended while it started.
        """
        actor = self._worker.remote(self.size * _LINGER)
        try:
            getting_ready = call_actor(self._ray, lambda: actor.start.remote(self._job[0], self._embedders))
            fault = await asyncio.wait_for(getting_ready, _READY_SECONDS)
        except TimeoutError:
            self._ray.kill(actor)
            raise NoWorkersError(
                f"No worker was ready within {_READY_SECONDS:.0f} s: the cluster has no free processor, or your code takes "
                "longer to load. Use fewer --workers, or wait for a node."
            ) from None
        if fault:
            self._ray.kill(actor)  # otherwise it keeps its processor
            raise NoWorkersError(f"A worker cannot start: {fault}")
        return RayWorkerHandle(actor, self._ray)


class RelayActor(Relay):
    """A relay in a Ray actor. It owns its workers, so Ray ends them with it."""

    def __init__(self, job: Sequence[Any], embedders: Sequence[Any], size: int, interval: float) -> None:
        super().__init__(RayWorkerPool(job, embedders, size), interval)


@dataclass(frozen=True, slots=True)
class RayRelayHandle:
    """The coordinator's handle of a relay in a Ray actor."""

    actor: Any
    ray: ModuleType

    async def start_worker(self) -> int | Exception:
        """Start a worker. Raises WorkerLostError if the relay has ended."""
        number: int | Exception = await call_actor(self.ray, self.actor.start_worker.remote)
        return number

    async def send(self, batch: ToGroup) -> None:
        """Send messages. Raises WorkerLostError if the relay has ended."""
        await call_actor(self.ray, lambda: self.actor.send.remote(batch))

    async def receive(self) -> FromGroup:
        """Receive messages. Raises WorkerLostError if the relay has ended."""
        batch: FromGroup = await call_actor(self.ray, self.actor.receive.remote)
        return batch


@asynccontextmanager
async def ray_pool(
    ray: ModuleType, payload: Payload, embedder: Payload | None, size: int
) -> AsyncIterator[RayWorkerPool | RelayedWorkerPool]:
    """Open a pool of `size` workers, behind relays if there are many, and check that each node can embed.

    Raises:
        NoWorkersError: a node cannot load the embedding model, or has another one.
    """
    job, embedders = [ray.put(payload)], [] if embedder is None else _embedding_actors(ray, embedder)
    try:
        await asyncio.gather(*(call_actor(ray, actor.start.remote) for actor in embedders))
    except WorkerLostError as lost:
        raise NoWorkersError(f"A worker cannot use the embedding model: {str(lost).rstrip('.')}.") from lost
    if size <= MAX_DIRECT_WORKERS:
        yield RayWorkerPool(job, embedders, size)
        return
    relay = ray.remote(max_restarts=0, max_concurrency=1_000, num_cpus=0)(RelayActor)
    relays = RelayedWorkerPool(lambda *shape: RayRelayHandle(relay.remote(job, embedders, *shape), ray), size)
    try:
        yield relays
    finally:
        await relays.close()


def _embedding_actors(ray: ModuleType, embedder: Payload) -> list[Any]:
    """Start one embedding actor per node, since a model uses all processors; Ray restarts actors that end."""
    options = {"max_restarts": 10, "max_task_retries": 3, "num_cpus": 0, "scheduling_strategy": "SPREAD"}
    kind = ray.remote(**options)(EmbeddingActor)
    nodes = sum(1 for node in ray.nodes() if node["Alive"])
    return [kind.remote(embedder) for _ in range(max(1, nodes))]


def cpu_count(ray: ModuleType) -> int:
    """Return the number of processors of the cluster."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


async def call_actor(ray: ModuleType, call: Callable[[], Any]) -> Any:
    """Await a call of an actor.

    Raises:
        WorkerLostError: the actor has ended or failed.
        NoWorkersError: the connection to the cluster is lost.
    """
    try:
        future = asyncio.wrap_future(call().future())
        future.add_done_callback(_consume_error)
        return await asyncio.shield(future)  # Ray fails if the future is cancelled
    except ray.exceptions.RayError as error:
        raise WorkerLostError(error_line(error)) from error
    except ConnectionError as error:  # what Ray's client raises
        raise NoWorkersError(
            f"The connection to the Ray cluster is lost: {error_line(error).rstrip('.')}. Resume with --resume once it is back."
        ) from error


def _consume_error(future: "asyncio.Future[Any]") -> None:
    """Retrieve the error, so that asyncio does not warn about it."""
    if not future.cancelled():
        future.exception()
