"""Hands in actors of Ray."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .actors import EmbeddingActor, HandActor
from .brief import Pack
from .crew import CrewError, HandLostError
from .messages import Down, Up
from .start import why

_READY = 120.0
"""Seconds in which a worker has to be ready; Ray waits for ever where no node has room for one."""
_LINGER = 0.0005
"""Seconds for each hand that a hand waits for more to say: the more there are, the fewer of them can be heard at once."""


@dataclass(frozen=True, slots=True)
class RayMember:
    """A hand in an actor."""

    actor: Any
    ray: ModuleType

    async def tell(self, messages: Sequence[Down]) -> None:
        """Hand over messages. Raises HandLostError: the actor has ended."""
        await reached(self.ray, lambda: self.actor.tell.remote(list(messages)))

    async def listen(self) -> Sequence[Up]:
        """What the hand has to say. Raises HandLostError: the actor has ended."""
        said: Sequence[Up] = await reached(self.ray, self.actor.listen.remote)
        return said


class RayCrew:
    """Hands on the nodes of a cluster; a hand takes one of its processors."""

    def __init__(self, ray: ModuleType, brief: Pack, embedder: Pack | None, size: int) -> None:
        self.size = size
        self._ray, self._brief = ray, ray.put(brief)
        options = {"max_restarts": 0, "max_concurrency": 1_000, "num_cpus": 1}
        self._hand = ray.remote(**options)(HandActor)
        self._pool = [] if embedder is None else _pool(ray, embedder)

    async def hire(self) -> RayMember:
        """A hand on some node.

        Raises:
            CrewError: no node has room for it, or it cannot get ready.
            HandLostError: it ended while it was getting ready.
        """
        actor = self._hand.remote(self.size * _LINGER)
        try:
            getting_ready = reached(self._ray, lambda: actor.start.remote(self._brief, self._pool))
            fault = await asyncio.wait_for(getting_ready, _READY)
        except TimeoutError:
            self._ray.kill(actor)
            raise CrewError(
                f"No worker was ready within {_READY:.0f} s: the cluster has no processor free for it, or your code takes "
                "longer to load. Name fewer with --workers, or wait for a node."
            ) from None
        if fault:
            self._ray.kill(actor)  # it would keep its processor
            raise CrewError(f"A worker cannot begin: {fault}")
        return RayMember(actor, self._ray)

    async def check_pool(self) -> None:
        """Raises CrewError: the embedding model cannot be loaded on some node, or is another one there."""
        try:
            await asyncio.gather(*(reached(self._ray, actor.start.remote) for actor in self._pool))
        except HandLostError as lost:
            raise CrewError(f"A worker cannot use the embedding model: {str(lost).rstrip('.')}.") from lost


def _pool(ray: ModuleType, embedder: Pack) -> list[Any]:
    """One actor a node, since a model uses all processors by itself; Ray starts one anew that ends."""
    options = {"max_restarts": 10, "max_task_retries": 3, "num_cpus": 0, "scheduling_strategy": "SPREAD"}
    kind = ray.remote(**options)(EmbeddingActor)
    nodes = sum(1 for node in ray.nodes() if node["Alive"])
    return [kind.remote(embedder) for _ in range(max(1, nodes))]


def processors(ray: ModuleType) -> int:
    """How many processors the nodes have together."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


async def reached(ray: ModuleType, call: Callable[[], Any]) -> Any:
    """What an actor gives to a call.

    Raises:
        HandLostError: it has ended, or broke.
        CrewError: nobody on the cluster can be reached any more.
    """
    try:
        answer = asyncio.wrap_future(call().future())
        answer.add_done_callback(_heard)
        return await asyncio.shield(answer)  # Ray breaks on an answer that was cancelled
    except ray.exceptions.RayError as error:
        raise HandLostError(why(error)) from error
    except ConnectionError as error:  # what Ray's client raises
        raise CrewError(
            f"The connection to the Ray cluster is lost: {why(error).rstrip('.')}. Go on with --resume once it is back."
        ) from error


def _heard(answer: "asyncio.Future[Any]") -> None:
    """Nobody may be waiting any more, and asyncio would say so."""
    if not answer.cancelled():
        answer.exception()
