"""The channel from a worker to the coordinator: outgoing messages, and results by ticket."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import count
from typing import Any

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import EvalmarkError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply
from evalmark.models.middleware.keyed_request import KeyedRequest
from evalmark.runs.engine.trial import describe_error

from .messages import (
    AttemptFinished,
    CallRequested,
    ReplyDelta,
    SendNow,
    ServiceRequested,
    TicketCancelled,
    TicketResult,
    ToCoordinator,
    WorkerOnlyError,
)


class Channel:
    """Tickets and messages of one worker. Any thread may send a message and wait for its result.

    `notify` is called, from any thread, when there is a message to fetch.
    """

    def __init__(self, notify: Callable[[], object]) -> None:
        self._notify = notify
        self._out: list[ToCoordinator] = []
        self._full: list[Future[None]] = []
        self._waiting: dict[int, Future[SendNow | TicketResult]] = {}
        self._tickets = count(1)
        self._lock = threading.Lock()

    def send(self, message: ToCoordinator) -> None:
        """Queue a message for the coordinator."""
        with self._lock:
            self._out.append(message)
            first = len(self._out) == 1
        if first:
            self._notify()

    def fetch(self) -> Sequence[ToCoordinator]:
        """Return all queued messages."""
        with self._lock:
            out, self._out = self._out, []
            emptied, self._full = self._full, []
        for waiting in emptied:
            if waiting.set_running_or_notify_cancel():
                waiting.set_result(None)
        return out

    async def wait_for_space(self, limit: int) -> None:
        """Wait until at most `limit` messages are queued."""
        with self._lock:
            if len(self._out) <= limit:
                return
            emptied: Future[None] = Future()
            self._full.append(emptied)
        await asyncio.wrap_future(emptied)

    def take(self, message: SendNow | TicketResult) -> None:
        """Resume the caller that waits for this ticket."""
        with self._lock:
            waiting = self._waiting.pop(message.ticket, None)
        if waiting is not None and waiting.set_running_or_notify_cancel():
            waiting.set_result(message)

    async def request(self, service: str, *arguments: Any) -> Any:
        """Request a service of the coordinator. Raises the coordinator's error."""
        ticket, future = self._open()
        self.send(ServiceRequested(ticket, service, arguments))
        return _result(await self._next(ticket, future))

    def request_in_thread(self, service: str, *arguments: Any) -> Any:
        """`request` for synchronous callers; never call it on the event loop of the channel."""
        ticket, future = self._open()
        self.send(ServiceRequested(ticket, service, arguments))
        return _result(future.result())

    async def ask(self, model: ChatModel, request: KeyedRequest) -> Reply:
        """Call a model from this process, when and as often as the coordinator allows. Raises the coordinator's error."""
        ticket, future = self._open()
        self.send(CallRequested(ticket, model.name, model.identity, request))
        outcome: Reply | Exception | None = None
        while True:
            with current_trial_context().waiting():
                message = await self._next(ticket, future)
            if isinstance(message, TicketResult):
                return _reply(message, outcome)
            outcome = await self._attempt(ticket, model, request)
            future = self._retry(ticket)
            self.send(
                AttemptFinished(
                    ticket,
                    outcome if isinstance(outcome, Reply | EvalmarkError) else WorkerOnlyError(describe_error(outcome)),
                )
            )

    async def _attempt(self, ticket: int, model: ChatModel, request: KeyedRequest) -> Reply | Exception:
        """Send one request; return the reply or the error."""
        try:
            return await model(request.original)
        except asyncio.CancelledError:
            self._drop(ticket)
            raise
        except Exception as error:  # noqa: BLE001  foreign code: a model of the user's may raise anything
            return error

    def _open(self) -> tuple[int, Future[SendNow | TicketResult]]:
        ticket = next(self._tickets)
        return ticket, self._retry(ticket)

    def _retry(self, ticket: int) -> Future[SendNow | TicketResult]:
        future: Future[SendNow | TicketResult] = Future()
        with self._lock:
            self._waiting[ticket] = future
        return future

    async def _next(self, ticket: int, future: Future[SendNow | TicketResult]) -> SendNow | TicketResult:
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._drop(ticket)
            raise

    def _drop(self, ticket: int) -> None:
        with self._lock:
            self._waiting.pop(ticket, None)
        self.send(TicketCancelled(ticket))


def _result(message: SendNow | TicketResult) -> Any:
    value = message.value if isinstance(message, TicketResult) else None
    if isinstance(value, BaseException):
        raise value
    return value


def _reply(result: TicketResult, outcome: Reply | Exception | None) -> Reply:
    """Return the reply, or raise the error, of a ticket result."""
    if isinstance(result.value, ReplyDelta) and isinstance(outcome, Reply):
        return replace(outcome, **result.value.changes)
    if isinstance(result.value, WorkerOnlyError) and isinstance(outcome, Exception):
        raise outcome
    reply: Reply = _result(result)
    return reply
