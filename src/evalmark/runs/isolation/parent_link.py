"""A worker's way to the process of the run: messages out, and what comes back for them."""

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
    """Tickets and messages of one worker; any thread and any event loop may send, and wait for an answer."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._tickets = count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self.waited = 0.0
        """Seconds that calls of the case have waited for their turn, as far as is known here."""

    def send(self, message: TargetsLoaded | CaseFinished | ParentRequest | ParentRequestCancelled) -> None:
        """Tell the process of the run. Raises what pickling a message raises."""
        data = ForkingPickler.dumps(message)
        with self._lock:
            self._pipe.send_bytes(data)

    def hear(self, take: Callable[[RunCase | None], object]) -> None:
        """Pass on what the process of the run says, until it says that it is over; end with it where it ends before."""
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
        if isinstance(told.found, BaseException):
            waiting.set_exception(told.found)
        else:
            waiting.set_result(told.found)

    async def wants(self, what: str, *given: Any) -> Any:
        """What the process of the run does for this one. Raises what that raises."""
        ticket, answer = self._open(what, given)
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            with self._lock:
                self._waiting.pop(ticket, None)
            self.send(ParentRequestCancelled(ticket))
            raise

    def wants_in_thread(self, what: str, *given: Any) -> Any:
        """The same for callers who cannot be suspended."""
        return self._open(what, given)[1].result()

    def _open(self, what: str, given: tuple[Any, ...]) -> tuple[int, Future[Any]]:
        ticket, answer = next(self._tickets), Future[Any]()
        with self._lock:
            self._waiting[ticket] = answer
        self.send(ParentRequest(ticket, what, given))
        return ticket, answer


async def parent_model(link: ParentLink, name: str) -> ChatModel:
    """A chat model that the process of the run asks: its calls are recorded, replayed, limited and counted there."""
    found, identity = await link.wants("model", name)
    return ParentModel(name=found, identity=identity, link=link)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentModel:
    name: str
    identity: str
    link: ParentLink

    async def __call__(self, request: Request) -> Reply:
        """The model's reply. Raises what the model raises."""
        tools = current_tools()
        try:
            reply = cast(Reply, await self.link.wants("call", self.name, request))
        except RunStoppedError as fault:
            if tools is not None:
                tools.note(fault)
            raise
        if tools is not None and reply.key:
            tools.used.append(reply.key)
        return reply


class ParentTrialContext(TrialContext):
    """The calls of one case: how long they waited, the process of the run knows."""

    def __init__(self, link: ParentLink, repeat: int, tools: TrialTools) -> None:
        super().__init__(repeat, tools, partial(parent_model, link))
        self._link, link.waited = link, 0.0

    def waited(self) -> float:
        """Seconds in which at least one call waited for its turn, up to the last reply."""
        return self._link.waited


class ParentTools(ToolReplay):
    """The tools of a run: what is recorded, and how often, is known to its own process."""

    def __init__(self, link: ParentLink, mode: Any) -> None:
        super().__init__(_no_journal, mode)
        self._link = link

    def claim(self, tool: str, version: str, home: str) -> None:
        """Say which function goes by a name. Raises ToolError: another one does."""
        self._link.wants_in_thread("claim", tool, version, home)

    def find(self, key: str) -> ToolRecording | None:
        """What is recorded. Raises what the run's own process raises."""
        return cast(ToolRecording | None, self._link.wants_in_thread("find", key))

    def keep(self, recording: ToolRecording) -> ToolRecording:
        """Make a call durable. Raises what the run's own process raises."""
        return cast(ToolRecording, self._link.wants_in_thread("keep", recording))

    def failed(self) -> None:
        """A tool was called and raised, so nothing is recorded."""
        self._link.wants_in_thread("failed")


def _no_journal() -> ToolLog:
    raise LookupError("recordings of tools are kept by the process of the run")
