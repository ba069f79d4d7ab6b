"""Hands in actors of Ray."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .messages import ToCoordinator, ToWorker
from .payload import Payload
from .ray_actors import EmbeddingActor, WorkerActor
from .ray_connection import error_line
from .worker_pool import NoWorkersError, WorkerLostError

_READY_SECONDS = 120.0
"""Seconds in which a worker has to be ready; Ray waits for ever where no node has room for one."""
_LINGER = 0.0005
"""Seconds for each hand that a hand waits for more to say: the more there are, the fewer of them can be heard at once."""


@dataclass(frozen=True, slots=True)
class RayWorkerHandle:
    """A hand in an actor."""

    actor: Any
    ray: ModuleType

    async def tell(self, messages: Sequence[ToWorker]) -> None:
        """Hand over messages. Raises HandLostError: the actor has ended."""
        await call_actor(self.ray, lambda: self.actor.tell.remote(list(messages)))

    async def listen(self) -> Sequence[ToCoordinator]:
        """What the hand has to say. Raises HandLostError: the actor has ended."""
        said: Sequence[ToCoordinator] = await call_actor(self.ray, self.actor.listen.remote)
        return said


class RayWorkerPool:
    """Hands on the nodes of a cluster; a hand takes one of its processors."""

    def __init__(self, ray: ModuleType, brief: Payload, embedder: Payload | None, size: int) -> None:
        self.size = size
        self._ray, self._brief = ray, ray.put(brief)
        options = {"max_restarts": 0, "max_concurrency": 1_000, "num_cpus": 1}
        self._hand = ray.remote(**options)(WorkerActor)
        self._pool = [] if embedder is None else _pool(ray, embedder)

    async def hire(self) -> RayWorkerHandle:
        """A hand on some node.

        Raises:
            CrewError: no node has room for it, or it cannot get ready.
            HandLostError: it ended while it was getting ready.
        """
        actor = self._hand.remote(self.size * _LINGER)
        try:
            getting_ready = call_actor(self._ray, lambda: actor.start.remote(self._brief, self._pool))
            fault = await asyncio.wait_for(getting_ready, _READY_SECONDS)
        except TimeoutError:
            self._ray.kill(actor)
            raise NoWorkersError(
                f"No worker was ready within {_READY_SECONDS:.0f} s: the cluster has no processor free for it, or your code takes "
                "longer to load. Name fewer with --workers, or wait for a node."
            ) from None
        if fault:
            self._ray.kill(actor)  # it would keep its processor
            raise NoWorkersError(f"A worker cannot begin: {fault}")
        return RayWorkerHandle(actor, self._ray)

    async def check_pool(self) -> None:
        """Raises CrewError: the embedding model cannot be loaded on some node, or is another one there."""
        try:
            await asyncio.gather(*(call_actor(self._ray, actor.start.remote) for actor in self._pool))
        except WorkerLostError as lost:
            raise NoWorkersError(f"A worker cannot use the embedding model: {str(lost).rstrip('.')}.") from lost


def _pool(ray: ModuleType, embedder: Payload) -> list[Any]:
    """One actor a node, since a model uses all processors by itself; Ray starts one anew that ends."""
    options = {"max_restarts": 10, "max_task_retries": 3, "num_cpus": 0, "scheduling_strategy": "SPREAD"}
    kind = ray.remote(**options)(EmbeddingActor)
    nodes = sum(1 for node in ray.nodes() if node["Alive"])
    return [kind.remote(embedder) for _ in range(max(1, nodes))]


def cpu_count(ray: ModuleType) -> int:
    """How many processors the nodes have together."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


async def call_actor(ray: ModuleType, call: Callable[[], Any]) -> Any:
    """What an actor gives to a call.

    Raises:
        HandLostError: it has ended, or broke.
        CrewError: nobody on the cluster can be reached any more.
    """
    try:
        answer = asyncio.wrap_future(call().future())
        answer.add_done_callback(_consume_error)
        return await asyncio.shield(answer)  # Ray breaks on an answer that was cancelled
    except ray.exceptions.RayError as error:
        raise WorkerLostError(error_line(error)) from error
    except ConnectionError as error:  # what Ray's client raises
        raise NoWorkersError(
            f"The connection to the Ray cluster is lost: {error_line(error).rstrip('.')}. Go on with --resume once it is back."
        ) from error


def _consume_error(answer: "asyncio.Future[Any]") -> None:
    """Nobody may be waiting any more, and asyncio would say so."""
    if not answer.cancelled():
        answer.exception()
