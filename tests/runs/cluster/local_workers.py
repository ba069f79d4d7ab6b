"""Cluster workers in this process, which end, wait or fail to start when a test says so."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from evalmark.runs.cluster.channel import Channel
from evalmark.runs.cluster.messages import ToCoordinator, ToWorker
from evalmark.runs.cluster.relay import FromGroup, Relay, RelayedWorkerPool, ToGroup
from evalmark.runs.cluster.worker import Worker
from evalmark.runs.cluster.worker_pool import NoWorkersError, WorkerLostError
from evalmark.runs.engine.work import Limits, Work


class LocalWorkerHandle:
    """A worker whose tasks are this event loop's; what it hears and says is copied, as on the way to another process."""

    def __init__(self, worker: Callable[[Channel], Worker], seconds: float = 0.0, until: int | None = None) -> None:
        """It ends by itself once so many messages (`until`) have come or gone; None: never."""
        loop = asyncio.get_running_loop()
        self._seconds, self._left = seconds, until
        self._said = asyncio.Event()
        self._why: str | None = None
        self.post = Channel(lambda: loop.call_soon_threadsafe(self._said.set))
        self._worker = worker(self.post)
        self._work = loop.create_task(self._worker.run())
        self._work.add_done_callback(self._ended)

    @property
    def is_lost(self) -> bool:
        """Whether it has ended before its time."""
        return self._why is not None

    def worker_lost(self, why: str = "it was told to end") -> None:
        """End at once: what it was doing is cancelled, and what it has not told yet is never heard."""
        self._why = self._why or why
        self._work.cancel()
        self._said.set()

    async def send(self, messages: Sequence[ToWorker]) -> None:
        """Send messages. Raises WorkerLostError: the worker has ended."""
        await asyncio.sleep(self._seconds)
        self._count(messages)
        self._worker.take(deepcopy(messages))

    async def receive(self) -> Sequence[ToCoordinator]:
        """What the worker has to say. Raises WorkerLostError: the worker has ended."""
        await self._said.wait()
        await asyncio.sleep(self._seconds)
        self._said.clear()
        said = self.post.fetch() if self._why is None else ()
        self._count(said)
        return deepcopy(said)

    def _count(self, messages: Sequence[object]) -> None:
        if self._left is not None:
            self._left -= len(messages)
            if self._left <= 0:
                self.worker_lost()
        if self._why is not None:
            self._said.set()  # for those who listen again
            raise WorkerLostError(self._why)

    def _ended(self, work: "asyncio.Task[None]") -> None:
        if not work.cancelled() and (error := work.exception()) is not None:
            self.worker_lost(f"{type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWorkerPool:
    """Starts workers that do the work of `made`; starts are counted from 0.

    >>> LocalWorkerPool(made=lambda post: None, size=3).size
    3
    """

    made: Callable[[Channel], Work]
    limits: Limits = field(default_factory=Limits)
    size: int = 2
    seconds: float = 0.0
    """Seconds that each message takes."""
    until: Mapping[int, int] = field(default_factory=dict)
    """The number of messages after which a worker ends, by its start number; 0: while it starts."""
    refused: Collection[int] = ()
    """Start numbers that fail with NoWorkersError."""
    members: list[LocalWorkerHandle | None] = field(default_factory=list)
    """All started workers in order; None for a failed start."""

    async def start_worker(self) -> LocalWorkerHandle:
        """Start a worker.

        Raises:
            NoWorkersError: the start number is in `refused`.
            WorkerLostError: it ended while it started.
        """
        number = len(self.members)
        self.members.append(None)
        await asyncio.sleep(self.seconds)
        if number in self.refused:
            raise NoWorkersError(f"there is no worker {number} to be had")
        if self.until.get(number) == 0:
            raise WorkerLostError(f"worker {number} did not get ready")
        member = LocalWorkerHandle(self._worker, self.seconds, self.until.get(number))
        self.members[number] = member
        return member

    def _worker(self, post: Channel) -> Worker:
        return Worker(post, self.made, self.limits)


@dataclass(frozen=True)
class _GroupPool:
    """The workers of one relay; keeps their handles."""

    pool: LocalWorkerPool
    workers: list[LocalWorkerHandle]

    @property
    def size(self) -> int:
        return self.pool.size

    async def start_worker(self) -> LocalWorkerHandle:
        worker = await self.pool.start_worker()
        self.workers.append(worker)
        return worker


class LocalRelay:
    """A relay on this event loop that ends when a test says so, and its workers with it; its batches are copied."""

    def __init__(self, pool: LocalWorkerPool, interval: float) -> None:
        self.workers: list[LocalWorkerHandle] = []
        self._relay = Relay(_GroupPool(pool, self.workers), interval)
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.batch_times: list[float] = []

    def end(self) -> None:
        """End at once, as its process would."""
        for worker in self.workers:
            worker.worker_lost("its relay ended")
        self._ended.set_exception(WorkerLostError("the relay ended"))

    async def start_worker(self) -> int | Exception:
        return await self._or_end(self._relay.start_worker())

    async def send(self, batch: ToGroup) -> None:
        self.batch_times.append(asyncio.get_running_loop().time())
        await self._or_end(self._relay.send(deepcopy(batch)))

    async def receive(self) -> FromGroup:
        return deepcopy(await self._or_end(self._relay.receive()))

    async def _or_end(self, work):
        task = asyncio.ensure_future(work)
        await asyncio.wait({task, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        if self._ended.done():
            task.cancel()
            self._ended.result()
        return task.result()


class RelayedLocalPool(RelayedWorkerPool):
    """The workers of a `LocalWorkerPool`, behind relays."""

    def __init__(self, **options) -> None:
        self.local = LocalWorkerPool(**options)
        self.members = self.local.members
        self.relays: list[LocalRelay] = []
        super().__init__(self._new_relay, self.local.size)

    def _new_relay(self, size: int, interval: float) -> LocalRelay:
        self.relays.append(LocalRelay(self.local, interval))
        return self.relays[-1]
