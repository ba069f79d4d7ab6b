"""The link from a worker process to the process of the run: outgoing messages, and results by ticket."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, cast

from evalmark.core.context.tool_replay import TrialTools
from evalmark.core.context.trial_context import TrialContext, current_tools
from evalmark.core.errors import RunStoppedError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request

from .messages import CaseFinished, ParentReply, ParentRequest, ParentRequestCancelled, RunCase, TargetsLoaded
from .parent_watch import kill_this_process


class ParentLink:
    """Tickets and messages of one worker. Any thread or event loop may send a message and wait for its result."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._tickets = count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self.waited = 0.0
        """Seconds that calls of the case have waited in queues, up to the last reply."""

    def send(self, message: TargetsLoaded | CaseFinished | ParentRequest | ParentRequestCancelled) -> None:
        """Send a message to the process of the run. Raises pickling errors."""
        data = ForkingPickler.dumps(message)
        with self._lock:
            self._pipe.send_bytes(data)

    def receive(self, take: Callable[[RunCase | None], object]) -> None:
        """Handle messages of the process of the run until it ends the link; end this process if that one dies."""
        try:
            while (message := self._pipe.recv()) is not None:
                if isinstance(message, ParentReply):
                    self._settle(message)
                else:
                    take(message)
        except (OSError, EOFError):
            kill_this_process()
        take(None)

    def _settle(self, reply: ParentReply) -> None:
        with self._lock:
            waiting = self._waiting.pop(reply.ticket, None)
        self.waited = reply.waited
        if waiting is None or not waiting.set_running_or_notify_cancel():
            return
        if isinstance(reply.result, BaseException):
            waiting.set_exception(reply.result)
        else:
            waiting.set_result(reply.result)

    async def request(self, service: str, *arguments: Any) -> Any:
        """Request a service of the process of the run. Raises its error."""
        ticket, future = self._open(service, arguments)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            with self._lock:
                self._waiting.pop(ticket, None)
            self.send(ParentRequestCancelled(ticket))
            raise

    def request_in_thread(self, service: str, *arguments: Any) -> Any:
        """`request` for synchronous callers."""
        return self._open(service, arguments)[1].result()

    def _open(self, service: str, arguments: tuple[Any, ...]) -> tuple[int, Future[Any]]:
        ticket, future = next(self._tickets), Future[Any]()
        with self._lock:
            self._waiting[ticket] = future
        self.send(ParentRequest(ticket, service, arguments))
        return ticket, future


async def parent_model(link: ParentLink, name: str) -> ChatModel:
    """Return a chat model of the process of the run."""
    full_name, identity = await link.request("model", name)
    return ParentModel(name=full_name, identity=identity, link=link)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentModel:
    """A chat model that the process of the run calls, with its call log, limits and budget."""

    name: str
    identity: str
    link: ParentLink

    async def __call__(self, request: Request) -> Reply:
        """Return the model's reply. Raises the model's error."""
        tools = current_tools()
        try:
            reply = cast(Reply, await self.link.request("call", self.name, request))
        except RunStoppedError as fault:
            if tools is not None:
                tools.note(fault)
            raise
        if tools is not None and reply.key:
            tools.used.append(reply.key)
        return reply


class ParentTrialContext(TrialContext):
    """The context of one trial, with waiting times from the process of the run."""

    def __init__(self, link: ParentLink, repeat: int, tools: TrialTools) -> None:
        super().__init__(repeat, tools, partial(parent_model, link))
        self._link, link.waited = link, 0.0

    def waited(self) -> float:
        """Return the seconds in which at least one call waited in a queue, up to the last reply."""
        return self._link.waited
