"""Relays between the coordinator and groups of workers: one batch carries the messages of a whole group.

A batch costs the coordinator far more than a message in it, and the more workers there are, the fewer messages each of them
has at a time. So workers are reached through a few relays, each of which exchanges a limited number of batches a second.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from .messages import ToCoordinator, ToWorker
from .worker_pool import NoWorkersError, WorkerHandle, WorkerLostError, WorkerPool

T = TypeVar("T")
MAX_DIRECT_WORKERS = 16
"""The largest number of workers that are reached without relays."""
GROUP_SIZE = 50
"""The largest number of workers behind one relay."""
BATCH_SECONDS = 0.01
"""Seconds between two batches in one direction, for each relay of the pool: all relays together send 100 a second."""

ToGroup = Sequence[tuple[int, Sequence[ToWorker]]]
"""Messages by the number of their worker."""
FromGroup = Sequence[tuple[int, Sequence[ToCoordinator] | Exception]]
"""Messages by the number of their worker, or the error that ended it."""


class Batches(Generic[T]):
    """Collects entries by worker number, and releases them at most once every `interval` seconds."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._entries: list[tuple[int, T]] = []
        self._has_entries = asyncio.Event()
        self._next = 0.0

    def add(self, number: int, entry: T) -> None:
        """Add an entry to the next batch."""
        self._entries.append((number, entry))
        self._has_entries.set()

    async def take(self) -> list[tuple[int, T]]:
        """Wait for entries and return them all."""
        await self._has_entries.wait()
        loop = asyncio.get_running_loop()
        if (delay := self._next - loop.time()) > 0:
            await asyncio.sleep(delay)
        self._next = loop.time() + self._interval
        self._has_entries.clear()
        entries, self._entries = self._entries, []
        return entries


class Relay:
    """Passes messages between the coordinator and the workers of a pool.

    It runs in a process of its own: an actor of Ray.
    """

    def __init__(self, pool: WorkerPool, interval: float) -> None:
        self._pool = pool
        self._outgoing: list[asyncio.Queue[Sequence[ToWorker]]] = []
        self._incoming: Batches[Sequence[ToCoordinator] | Exception] = Batches(interval)
        self._tasks: list[asyncio.Task[None]] = []

    async def start_worker(self) -> int | Exception:
        """Start a worker and return its number, or the error (a value, so that its type survives the way to another process)."""
        try:
            handle = await self._pool.start_worker()
        except (NoWorkersError, WorkerLostError) as error:
            return error
        number = len(self._outgoing)
        self._outgoing.append(asyncio.Queue())
        self._tasks.append(asyncio.create_task(self._exchange(number, handle)))
        return number

    async def send(self, batch: ToGroup) -> None:
        """Queue messages for workers. Those for a worker that has ended are dropped."""
        for number, messages in batch:
            self._outgoing[number].put_nowait(messages)

    async def receive(self) -> FromGroup:
        """Wait for messages or ends of workers and return them."""
        return await self._incoming.take()

    async def _exchange(self, number: int, handle: WorkerHandle) -> None:
        """Exchange messages with one worker until it is lost."""
        sending = asyncio.create_task(self._send_all(self._outgoing[number], handle))
        receiving = asyncio.create_task(self._receive_all(number, handle))
        done, _ = await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        if receiving not in done:  # the worker takes no more messages, but may have sent some
            await asyncio.wait({receiving}, timeout=5.0)
        error = next(filter(None, (task.exception() for task in (receiving, sending) if task.done())), None)
        self._incoming.add(number, error if isinstance(error, Exception) else WorkerLostError("it ended"))
        for task in (sending, receiving):
            task.cancel()

    async def _send_all(self, messages: "asyncio.Queue[Sequence[ToWorker]]", handle: WorkerHandle) -> None:
        while True:
            waiting = list(await messages.get())
            while not messages.empty():
                waiting += messages.get_nowait()
            await handle.send(waiting)

    async def _receive_all(self, number: int, handle: WorkerHandle) -> None:
        while True:
            self._incoming.add(number, await handle.receive())


class RelayHandle(Protocol):
    """The coordinator's connection to a relay."""

    async def start_worker(self) -> int | Exception:
        """Start a worker behind the relay. Raises WorkerLostError if the relay has ended."""
        ...

    async def send(self, batch: ToGroup) -> None:
        """Send messages. Raises WorkerLostError if the relay has ended."""
        ...

    async def receive(self) -> FromGroup:
        """Receive messages. Raises WorkerLostError if the relay has ended."""
        ...


class RelayedWorkerPool:
    """A worker pool behind relays. If a relay ends, all its workers are lost.

    `start_relay` gets the number of workers behind a relay and the seconds between its batches.
    """

    def __init__(self, start_relay: Callable[[int, float], RelayHandle], size: int) -> None:
        self.size = size
        relay_count = -(-size // GROUP_SIZE)
        self._group_size = -(-size // relay_count)
        self._interval = BATCH_SECONDS * relay_count
        self._start_relay = start_relay
        self._relays: list[_RelayLink] = []

    async def start_worker(self) -> "RelayedWorker":
        """Start a worker behind a relay that has room, or behind a new one.

        Raises:
            NoWorkersError: no worker can be started.
            WorkerLostError: it ended while it started, or its relay did.
        """
        relay = self._relay_with_room()
        relay.members += 1
        number: int | Exception = WorkerLostError("it did not start")
        try:
            number = await relay.handle.start_worker()
        finally:
            if not isinstance(number, int):
                relay.members -= 1
        if isinstance(number, Exception):
            raise number
        return RelayedWorker(relay, number)

    def _relay_with_room(self) -> "_RelayLink":
        self._relays = [relay for relay in self._relays if relay.error is None]
        for relay in self._relays:
            if relay.members < self._group_size:
                return relay
        self._relays.append(_RelayLink(self._start_relay(self._group_size, self._interval), self._interval))
        return self._relays[-1]

    async def close(self) -> None:
        """Stop exchanging messages with the relays."""
        for relay in self._relays:
            await relay.close()


class _RelayLink:
    """The exchange of batches with one relay."""

    def __init__(self, handle: RelayHandle, interval: float) -> None:
        self.handle = handle
        self.members = 0
        """How many of its workers run or start."""
        self.error: BaseException | None = None
        """Why the relay ended."""
        self._outgoing: Batches[Sequence[ToWorker]] = Batches(interval)
        self._inboxes: defaultdict[int, asyncio.Queue[Sequence[ToCoordinator] | BaseException]] = defaultdict(
            asyncio.Queue
        )
        self._tasks = [asyncio.create_task(part()) for part in (self._send_all, self._receive_all)]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    def send(self, number: int, messages: Sequence[ToWorker]) -> None:
        """Add messages to the next batch. Raises the error of a relay that has ended."""
        if self.error is not None:
            raise self.error
        self._outgoing.add(number, messages)

    async def receive(self, number: int) -> Sequence[ToCoordinator]:
        """Wait for messages of a worker. Raises WorkerLostError: it, or the relay, has ended."""
        inbox = self._inboxes[number]
        if self.error is not None and inbox.empty():
            raise self.error
        entry = await inbox.get()
        if isinstance(entry, BaseException):
            self.members -= 1
            raise entry
        return entry

    async def _send_all(self) -> None:
        while True:
            await self.handle.send(await self._outgoing.take())

    async def _receive_all(self) -> None:
        while True:
            for number, entry in await self.handle.receive():
                self._inboxes[number].put_nowait(entry)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Make the error of a task known to the readers of all workers."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        self.error = self.error or error
        for inbox in self._inboxes.values():
            inbox.put_nowait(error)

    async def close(self) -> None:
        """Stop the exchange."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class RelayedWorker:
    """The handle of a worker behind a relay."""

    relay: _RelayLink
    number: int

    async def send(self, messages: Sequence[ToWorker]) -> None:
        """Add messages to the relay's next batch. Raises WorkerLostError if the relay has ended."""
        self.relay.send(self.number, messages)

    async def receive(self) -> Sequence[ToCoordinator]:
        """Wait for messages. Raises WorkerLostError if the worker or its relay has ended."""
        return await self.relay.receive(self.number)
