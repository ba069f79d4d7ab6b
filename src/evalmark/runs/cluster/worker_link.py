"""The exchange of messages between the coordinator and one worker, from its first item to its end."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from evalmark.core.values.score import Result

from .messages import (
    AttemptFinished,
    CallRequested,
    FinishWork,
    Ready,
    SendNow,
    ServiceRequested,
    TicketCancelled,
    TicketResult,
    ToCoordinator,
    ToWorker,
    TrialFinished,
    WorkerDone,
)
from .remote_calls import CallProxy, RemoteCall
from .scheduler import WorkQueue
from .services import SharedServices
from .worker_pool import WorkerHandle

_FINAL_MESSAGES_SECONDS = 5.0
"""Seconds in which a worker that takes no more messages can still report why."""


class LinkOwner(Protocol):
    """The part of the coordinator that a link uses."""

    calls: CallProxy
    services: SharedServices
    queue: WorkQueue
    stop: asyncio.Event

    def notify_all(self) -> None: ...

    async def put(self, result: Result) -> None: ...

    async def record_ready(self) -> None: ...

    def worker_done(self, message: WorkerDone, *, left_out: bool) -> None: ...


class WorkerLink:
    """The link to one worker. Tickets belong to the link, so messages for a lost worker never reach its successor."""

    def __init__(self, coordinator: LinkOwner, slot: int, handle: WorkerHandle) -> None:
        self.is_over = False
        """Whether the worker has finished normally."""
        self._coordinator, self._slot, self._handle = coordinator, slot, handle
        self._out: list[ToWorker] = []
        self._notified = asyncio.Event()
        self._calls: dict[int, RemoteCall] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last: FinishWork | None = None
        """The last `FinishWork` that was sent."""
        self._is_receiving = False
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Gets the error of a failed task, which ends the run."""

    def notify(self) -> None:
        """Note that there may be messages to send."""
        self._notified.set()

    async def run(self) -> None:
        """Exchange messages until the worker ends.

        Raises:
            WorkerLostError: the worker was lost.
        """
        self.notify()
        sending = asyncio.create_task(self._send_all())
        receiving = asyncio.create_task(self._receive_all())
        try:
            await asyncio.wait({sending, receiving, self._failure}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await self._drain(receiving)
            if self._failure.done():
                self._failure.result()
            for task in (receiving, sending):
                if task.done() and not self.is_over:
                    task.result()
        finally:
            await _cancel(sending, receiving)
            await self._finish_tasks()

    async def _drain(self, receiving: "asyncio.Task[None]") -> None:
        """Receive the last messages of a worker that ended."""
        while not receiving.done():
            await asyncio.wait({receiving}, timeout=_FINAL_MESSAGES_SECONDS)
            if self._is_receiving:
                return

    async def _finish_tasks(self) -> None:
        """Finish the calls whose reply has arrived, since it may have cost money, and cancel all others."""
        for ticket in self._tasks:
            self._cancel_task(ticket)
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if not self._failure.cancel():
            self._failure.exception()  # mark it as retrieved

    def _cancel_task(self, ticket: int) -> None:
        """Cancel the task of a ticket, unless its reply has arrived: that is stored in any case."""
        call = self._calls.get(ticket)
        if (task := self._tasks.get(ticket)) is not None and (call is None or call.last_reply is None):
            task.cancel()

    async def _send_all(self) -> None:
        """Send the messages that gathered while the last ones were sent."""
        while True:
            await self._notified.wait()
            self._notified.clear()
            out, self._out = self._out, []
            out += self._next_messages()
            if out:
                await self._handle.send(out)
            await self._coordinator.record_ready()

    def _next_messages(self) -> Sequence[ToWorker]:
        """Return further items, or the end of the work once."""
        queue, is_stopped = self._coordinator.queue, self._coordinator.stop.is_set()
        assignments = [] if is_stopped or self._last is not None else queue.take(self._slot)
        if not is_stopped and not queue.is_done:
            return assignments
        last = FinishWork(now=is_stopped)
        if self._last in (last, FinishWork(now=True)):
            return assignments
        self._last = last
        self._coordinator.notify_all()
        return (*assignments, last)

    async def _receive_all(self) -> None:
        while not self.is_over:
            self._is_receiving = True
            messages = await self._handle.receive()
            self._is_receiving = False
            for message in messages:
                self._take(message)
            for message in messages:  # calls first: others wait for them, and results may have to wait for the recorder
                if isinstance(message, TrialFinished):
                    await self._record(message)
                elif isinstance(message, WorkerDone):
                    self._over(message)
            if not self._tasks or self._coordinator.queue.is_idle(self._slot):
                self.notify()  # otherwise further items go out with the next ticket result

    def _take(self, message: ToCoordinator) -> None:
        if isinstance(message, CallRequested):
            call = self._calls[message.ticket] = RemoteCall(message.ticket, self._send)
            self._begin(message.ticket, lambda: self._coordinator.calls.run(message, call))
        elif isinstance(message, AttemptFinished):
            if (running := self._calls.get(message.ticket)) is not None:
                running.finish(message.value)
        elif isinstance(message, ServiceRequested):
            self._begin(message.ticket, lambda: self._coordinator.services.perform(message))
        elif isinstance(message, TicketCancelled):
            self._cancel_task(message.ticket)
        elif isinstance(message, Ready):
            self._coordinator.queue.free(self._slot, message.more)

    async def _record(self, message: TrialFinished) -> None:
        """Record a result: it is queued at once, so the trial is done even if the wait for space is cancelled."""
        result = self._coordinator.queue.result(self._slot, message)
        if result is None:
            return
        self._coordinator.queue.done(self._slot, message)
        try:
            await self._coordinator.put(result)
        finally:
            if self._coordinator.queue.is_done:
                self._coordinator.notify_all()

    def _over(self, message: WorkerDone) -> None:
        self.is_over = True
        self._coordinator.worker_done(message, left_out=self._coordinator.queue.item_count(self._slot) > 0)

    def _send(self, message: SendNow | TicketResult) -> None:
        self._out.append(message)
        self.notify()

    def _begin(self, ticket: int, work: Callable[[], Coroutine[Any, Any, TicketResult]]) -> None:
        async def answered() -> None:
            self._send(await work())

        def ended(task: "asyncio.Task[None]") -> None:
            self._tasks.pop(ticket, None)
            self._calls.pop(ticket, None)
            if not task.cancelled() and (fault := task.exception()) is not None and not self._failure.done():
                self._failure.set_exception(fault)

        task = self._tasks[ticket] = asyncio.create_task(answered())
        task.add_done_callback(ended)


async def _cancel(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
