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

from evalmark.core.context.tool_replay import ToolReplay, TrialTools
from evalmark.core.context.trial_context import TrialContext, current_tools
from evalmark.core.errors import RunStoppedError
from evalmark.core.protocols import ChatModel, ToolLog
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.tool import ToolRecording

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

    def _settle(self, told: ParentReply) -> None:
        with self._lock:
            waiting = self._waiting.pop(told.ticket, None)
        self.waited = told.waited
        if waiting is None or not waiting.set_running_or_notify_cancel():
            return
        if isinstance(told.result, BaseException):
            waiting.set_exception(told.result)
        else:
            waiting.set_result(told.result)

    async def request(self, what: str, *given: Any) -> Any:
        """Request a service of the process of the run. Raises its error."""
        ticket, answer = self._open(what, given)
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            with self._lock:
                self._waiting.pop(ticket, None)
            self.send(ParentRequestCancelled(ticket))
            raise

    def request_in_thread(self, what: str, *given: Any) -> Any:
        """`request` for synchronous callers."""
        return self._open(what, given)[1].result()

    def _open(self, what: str, given: tuple[Any, ...]) -> tuple[int, Future[Any]]:
        ticket, answer = next(self._tickets), Future[Any]()
        with self._lock:
            self._waiting[ticket] = answer
        self.send(ParentRequest(ticket, what, given))
        return ticket, answer


async def parent_model(link: ParentLink, name: str) -> ChatModel:
    """Return a chat model that the process of the run calls, with its call log, limits and budget."""
    found, identity = await link.request("model", name)
    return ParentModel(name=found, identity=identity, link=link)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentModel:
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


class ParentTools(ToolReplay):
    """Tool recordings that the process of the run stores and counts."""

    def __init__(self, link: ParentLink, mode: Any) -> None:
        super().__init__(_no_tool_log, mode)
        self._link = link

    def claim(self, tool: str, version: str, home: str) -> None:
        """Register the function of a tool name. Raises ToolError if another function has it."""
        self._link.request_in_thread("claim", tool, version, home)

    def find(self, key: str) -> ToolRecording | None:
        """Find a recording. Raises the error of the process of the run."""
        return cast(ToolRecording | None, self._link.request_in_thread("find", key))

    def keep(self, recording: ToolRecording) -> ToolRecording:
        """Store a recording. Raises the error of the process of the run."""
        return cast(ToolRecording, self._link.request_in_thread("keep", recording))

    def failed(self) -> None:
        """Count a tool call that raised an error."""
        self._link.request_in_thread("failed")


def _no_tool_log() -> ToolLog:
    raise LookupError("the process of the run stores the tool recordings")
