"""Model calls of workers: the coordinator applies limits, budget and call log; the worker sends the request."""

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

# The wrappers around a model get only the request; this tells the innermost one which worker sends it.
_CURRENT_CALL: ContextVar["RemoteCall"] = ContextVar("evalmark_remote_call")


class RemoteCall:
    """A model call of a worker; the worker makes each attempt."""

    def __init__(self, ticket: int, send: Callable[[SendNow | TicketResult], None]) -> None:
        self.ticket = ticket
        self.last_reply: Reply | None = None
        """The last reply that the worker reported."""
        self._send = send
        self._back: asyncio.Future[Reply] | None = None

    async def send(self) -> Reply:
        """Let the worker make one attempt and return its reply. Raises its error."""
        self.last_reply = None
        self._back = asyncio.get_running_loop().create_future()
        self._send(SendNow(self.ticket))
        return await self._back

    def finish(self, outcome: Reply | Exception) -> None:
        """Set the outcome of the attempt."""
        if self._back is None or self._back.done():
            return
        if isinstance(outcome, Reply):
            self.last_reply = outcome
            self._back.set_result(outcome)
        else:
            self._back.set_exception(outcome)


@dataclass(frozen=True, slots=True)
class _ModelOnWorker:
    """A model whose requests the calling worker sends."""

    name: str
    identity: str

    async def __call__(self, request: Request) -> Reply:
        return await _CURRENT_CALL.get().send()


class CallProxy:
    """Sends the calls of all workers through one gateway."""

    def __init__(self, gateway: ModelGateway) -> None:
        self._gateway = gateway
        self._models: dict[tuple[str, str], ChatModel] = {}

    async def run(self, message: CallRequested, call: RemoteCall) -> TicketResult:
        """Make a call for a worker and return its result. A cancelled call counts as aborted."""
        _CURRENT_CALL.set(call)
        try:
            with trial_context(TrialContext()):
                reply = await self._model(message.name, message.identity)(message.request)
        except Exception as error:  # noqa: BLE001  what a model raises is its caller's
            return TicketResult(message.ticket, _sendable_error(error))
        return TicketResult(message.ticket, _new_fields(reply, call.last_reply))

    def _model(self, name: str, identity: str) -> ChatModel:
        key = (name, identity)
        if key not in self._models:
            self._refuse_other_address(name, identity)
            self._models[key] = self._gateway.wrap(
                _ModelOnWorker(name, identity)
            )  # the gateway has the coordinator's own model
        return self._models[key]

    def _refuse_other_address(self, name: str, identity: str) -> None:
        """Raise ConfigError if a worker would send requests for this model to another address than the coordinator."""
        try:
            own = self._gateway.chat(name).identity
        except ConfigError:
            return  # an object of the user, which has its own address
        if own != identity and own.partition("@")[0] == identity.partition("@")[0]:
            raise address_mismatch(name, identity, own)


def _new_fields(reply: Reply, last: Reply | None) -> Reply | ReplyDelta:
    """Return the reply, or only the fields that differ from the worker's own reply."""
    if last is None:
        return reply
    new = {name: getattr(reply, name) for name in _FIELDS if getattr(reply, name) is not getattr(last, name)}
    return ReplyDelta(new)


def _sendable_error(error: Exception) -> Any:
    """Convert an error so that another process can raise it."""
    is_ours = isinstance(error, WorkerOnlyError) or type(error).__module__.startswith("evalmark.")
    return error if is_ours else WorkerOnlyError(describe_error(error))
