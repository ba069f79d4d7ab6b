"""A chat model that writes each call to the call log before it returns the reply."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError, RunStoppedError, StoreError
from evalmark.core.protocols import CallLog, ChatModel
from evalmark.core.values.call import Attempt, Call, Reply, Request

from .keyed_request import KeyedRequest, with_key
from .meter import Meter

_BODIES = 6
"""Number of failed responses whose bodies are logged; a call may have had two hundred."""


class LoggedModel:
    """A model that logs every call, successful or not, before it returns."""

    def __init__(self, model: ChatModel, call_log: CallLog, meter: Meter | None = None) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._call_log, self._meter = model, call_log, meter

    async def __call__(self, request: Request) -> Reply:
        """Call the model and log the call. Raises what the model raises.

        Raises:
            RunStoppedError: The call log cannot be written.
        """
        request = with_key(request, self.identity)
        try:
            reply = await self._model(request)
        except ModelCallError as error:
            await self._log(self._call(request, error=_describe_failure(error)))
            error.key = request.cache_key
            raise
        except RunStoppedError as stopped:
            if isinstance(last := stopped.__cause__, ModelCallError):  # this response ended the run
                await self._log(self._call(request, error=_describe_failure(last)))
            raise
        reply = replace(reply, key=request.cache_key)
        await self._log(self._call(request, reply))
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

    async def _log(self, call: Call) -> None:
        """Log a call; this is completed even if the caller is cancelled."""
        try:
            stored = await self._call_log.keep(call)
        except StoreError as error:
            raise call_log_failure(error) from error
        is_masked = stored is not None and stored.masked
        if is_masked and self._meter is not None:
            self._meter.masked += 1
        if is_masked or not call.can_be_replayed:
            current_trial_context().has_unreplayable_call = True


def request_announcer(call_log: CallLog) -> Callable[[Request], Awaitable[None]]:
    """Return a function that notes in the call log that a request with a key is about to be sent."""

    async def announce(request: Request) -> None:
        if isinstance(request, KeyedRequest):
            try:
                await call_log.sending(request.cache_key)
            except StoreError as error:
                raise call_log_failure(error) from error

    return announce


def call_log_failure(error: StoreError) -> RunStoppedError:
    """The error that stops a run whose call log cannot be read or written."""
    return RunStoppedError(f"No further model calls are made because the call log cannot be used: {error}")


def _describe_failure(error: ModelCallError) -> str:
    last = len(error.attempts) - _BODIES
    lines = (
        _describe_attempt(number, attempt, number > last) for number, attempt in enumerate(error.attempts, start=1)
    )
    return "\n".join((str(error), *lines))


def _describe_attempt(number: int, attempt: Attempt, with_body: bool) -> str:
    status = "no response" if attempt.status is None else f"status {attempt.status}"
    body = f"\n{attempt.body}" if attempt.body and with_body else ""
    return f"Attempt {number}, {status} after {attempt.seconds:.2f} s: {attempt.error}{body}"
