"""Model calls that hands make: the run's door stands here, and only the request itself goes out elsewhere."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Any

from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request
from evalmark.runs.engine.trial import describe_error
from evalmark.runs.planning.models import ModelGateway

from .messages import CallRequested, ReplyDelta, SendNow, TicketResult, WorkerOnlyError
from .payload import address_mismatch

_FIELDS = tuple(field.name for field in fields(Reply))

# The wrappers around a model know of requests, and not of who makes them.
_CURRENT_CALL: ContextVar["RemoteCall"] = ContextVar("evalmark_errand")


class RemoteCall:
    """A call that a hand wants to make: each attempt is sent there, and comes back from there."""

    def __init__(self, ticket: int, say: Callable[[SendNow | TicketResult], None]) -> None:
        self.ticket = ticket
        self.came: Reply | None = None
        """What the hand has reported last, where that was a reply."""
        self._say = say
        self._back: asyncio.Future[Reply] | None = None

    async def send(self) -> Reply:
        """What one attempt gives. Raises what it ends in."""
        self.came = None
        self._back = asyncio.get_running_loop().create_future()
        self._say(SendNow(self.ticket))
        return await self._back

    def back(self, said: Reply | Exception) -> None:
        """The attempt is over."""
        if self._back is None or self._back.done():
            return
        if isinstance(said, Reply):
            self.came = said
            self._back.set_result(said)
        else:
            self._back.set_exception(said)


@dataclass(frozen=True, slots=True)
class _ModelOnWorker:
    """A model that is asked by whoever wants it asked."""

    name: str
    identity: str

    async def __call__(self, request: Request) -> Reply:
        return await _CURRENT_CALL.get().send()


class CallProxy:
    """Carries the calls of all hands through one door."""

    def __init__(self, door: ModelGateway) -> None:
        self._door = door
        self._models: dict[tuple[str, str], ChatModel] = {}

    async def run(self, asked: CallRequested, errand: RemoteCall) -> TicketResult:
        """What comes of a call, for the hand that wants it. When cancelled, the call counts as broken off."""
        _CURRENT_CALL.set(errand)
        try:
            with trial_context(TrialContext()):
                reply = await self._model(asked.name, asked.identity)(asked.request)
        except Exception as error:  # noqa: BLE001  what a model raises is its caller's
            return TicketResult(asked.ticket, _sendable_error(error))
        return TicketResult(asked.ticket, _new_fields(reply, errand.came))

    def _model(self, name: str, identity: str) -> ChatModel:
        known = (name, identity)
        if known not in self._models:
            self._refuse_other_address(name, identity)
            self._models[known] = self._door.around(_ModelOnWorker(name, identity))  # the door knows the desk's own one
        return self._models[known]

    def _refuse_other_address(self, name: str, identity: str) -> None:
        """Raises ConfigError: a worker opened a model by its name, and would ask it elsewhere than the desk."""
        try:
            mine = self._door.chat(name).identity
        except ConfigError:
            return  # an object of the user's, which says itself where it asks
        if mine != identity and mine.partition("@")[0] == identity.partition("@")[0]:
            raise address_mismatch(name, identity, mine)


def _new_fields(reply: Reply, came: Reply | None) -> Reply | ReplyDelta:
    """The reply, or what of it the hand does not know yet."""
    if came is None:
        return reply
    new = {name: getattr(reply, name) for name in _FIELDS if getattr(reply, name) is not getattr(came, name)}
    return ReplyDelta(new)


def _sendable_error(error: Exception) -> Any:
    """The error in a form that another process can raise."""
    is_ours = isinstance(error, WorkerOnlyError) or type(error).__module__.startswith("evalmark.")
    return error if is_ours else WorkerOnlyError(describe_error(error))
