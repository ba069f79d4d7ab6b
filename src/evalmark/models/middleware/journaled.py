"""A model whose calls are durable before anything uses them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

from evalmark.core.errors import ModelCallError, RunStoppedError, StoreError
from evalmark.core.protocols import CallLog, ChatModel
from evalmark.core.values.call import Attempt, Call, Reply, Request

from .keyed import Keyed, keyed
from .meter import Meter

_BODIES = 6
"""Responses that are kept with an error; a call may have failed two hundred times."""


class Journaled:
    """A model that keeps every call, good or bad, before it hands the reply on."""

    def __init__(self, model: ChatModel, journal: CallLog, meter: Meter | None = None) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._journal, self._meter = model, journal, meter

    async def __call__(self, request: Request) -> Reply:
        """The model's reply, durable. Raises what the model raises.

        Raises:
            RunStoppedError: the journal cannot be written.
        """
        request = keyed(request, self.identity)
        try:
            reply = await self._model(request)
        except ModelCallError as error:
            await self._keep(self._call(request, error=_told(error)))
            error.key = request.kept_as
            raise
        except RunStoppedError as stopped:
            if isinstance(last := stopped.__cause__, ModelCallError):  # it came back, with what ends the run
                await self._keep(self._call(request, error=_told(last)))
            raise
        reply = replace(reply, key=request.kept_as)
        await self._keep(self._call(request, reply))
        return reply

    def _call(self, request: Keyed, reply: Reply | None = None, error: str | None = None) -> Call:
        return Call(
            key=request.kept_as,
            model=self.name,
            identity=self.identity,
            request=request.plain,
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
            raise stopped_by(error) from error
        if kept is not None and kept.masked and self._meter is not None:
            self._meter.masked += 1


def announcing(journal: CallLog) -> Callable[[Request], Awaitable[None]]:
    """Tells the journal of each request that has a key, right before it goes out."""

    async def announce(request: Request) -> None:
        if isinstance(request, Keyed):
            try:
                await journal.sending(request.kept_as)
            except StoreError as error:
                raise stopped_by(error) from error

    return announce


def stopped_by(error: StoreError) -> RunStoppedError:
    """The end of a run whose journal cannot be read or written: nothing more may be paid for."""
    return RunStoppedError(f"No further model call is made, since the journal cannot be used: {error}")


def _told(error: ModelCallError) -> str:
    """The error of a call and all its attempts, as the journal keeps them; with the bodies of the last ones."""
    last = len(error.attempts) - _BODIES
    lines = (_line(number, attempt, number > last) for number, attempt in enumerate(error.attempts, start=1))
    return "\n".join((str(error), *lines))


def _line(number: int, attempt: Attempt, with_body: bool) -> str:
    status = "no response" if attempt.status is None else f"status {attempt.status}"
    body = f"\n{attempt.body}" if attempt.body and with_body else ""
    return f"Attempt {number}, {status} after {attempt.seconds:.2f} s: {attempt.error}{body}"
