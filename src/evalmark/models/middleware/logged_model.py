"""A model whose calls are durable before anything uses them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

from evalmark.core.errors import ModelCallError, RunStoppedError, StoreError
from evalmark.core.protocols import CallLog, ChatModel
from evalmark.core.values.call import Attempt, Call, Reply, Request

from .keyed_request import KeyedRequest, with_key
from .meter import Meter

_BODIES = 6
"""Responses that are kept with an error; a call may have failed two hundred times."""


class LoggedModel:
    """A model that keeps every call, good or bad, before it hands the reply on."""

    def __init__(self, model: ChatModel, journal: CallLog, meter: Meter | None = None) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._journal, self._meter = model, journal, meter

    async def __call__(self, request: Request) -> Reply:
        """The model's reply, durable. Raises what the model raises.

        Raises:
            RunStoppedError: the journal cannot be written.
        """
        request = with_key(request, self.identity)
        try:
            reply = await self._model(request)
        except ModelCallError as error:
            await self._keep(self._call(request, error=_describe_failure(error)))
            error.key = request.cache_key
            raise
        except RunStoppedError as stopped:
            if isinstance(last := stopped.__cause__, ModelCallError):  # it came back, with what ends the run
                await self._keep(self._call(request, error=_describe_failure(last)))
            raise
        reply = replace(reply, key=request.cache_key)
        await self._keep(self._call(request, reply))
        return reply

    def _call(self, request: KeyedRequest, reply: Reply | None = None, error: str | None = None) -> Call:
        return Call(
            key=request.cache_key,
            model=self.name,
            identity=self.identity,
            request=request.original,
            repeat=request.repeat,
            use=request.use,
            reply=reply,
            error=error,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )

    async def _keep(self, call: Call) -> None:
        """Make the call durable; a journal does so also when its caller is cancelled meanwhile."""
        try:
            kept = await self._journal.keep(call)
        except StoreError as error:
            raise call_log_failure(error) from error
        if kept is not None and kept.masked and self._meter is not None:
            self._meter.masked += 1


def request_announcer(journal: CallLog) -> Callable[[Request], Awaitable[None]]:
    """Tells the journal of each request that has a key, right before it goes out."""

    async def announce(request: Request) -> None:
        if isinstance(request, KeyedRequest):
            try:
                await journal.sending(request.cache_key)
            except StoreError as error:
                raise call_log_failure(error) from error

    return announce


def call_log_failure(error: StoreError) -> RunStoppedError:
    """The end of a run whose journal cannot be read or written: nothing more may be paid for."""
    return RunStoppedError(f"No further model call is made, since the journal cannot be used: {error}")


def _describe_failure(error: ModelCallError) -> str:
    """The error of a call and all its attempts, as the journal keeps them; with the bodies of the last ones."""
    last = len(error.attempts) - _BODIES
    lines = (
        _describe_attempt(number, attempt, number > last) for number, attempt in enumerate(error.attempts, start=1)
    )
    return "\n".join((str(error), *lines))


def _describe_attempt(number: int, attempt: Attempt, with_body: bool) -> str:
    status = "no response" if attempt.status is None else f"status {attempt.status}"
    body = f"\n{attempt.body}" if attempt.body and with_body else ""
    return f"Attempt {number}, {status} after {attempt.seconds:.2f} s: {attempt.error}{body}"
