"""A model that is asked again when it fails for a reason that may pass."""

import asyncio
from dataclasses import replace
from random import Random

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError, RunStoppedError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Attempt, Reply, Request
from evalmark.core.values.words import count

from .patience import DEFAULT_RETRY_POLICY, RetryPolicy
from .throttle import too_long

_LIMIT = 429
_MOST_RETRIES = 200
"""However little time passes between them."""


class RetryingModel:
    """A model that is asked again after faults that may pass, with a wait that is drawn anew each time.

    Every call ends: with a reply, with an error that may not pass, or when patience does.
    """

    def __init__(
        self, model: ChatModel, patience: RetryPolicy = DEFAULT_RETRY_POLICY, chance: Random | None = None
    ) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._patience = model, patience
        self._chance = chance or Random()  # noqa: S311  jitter is no secret

    async def __call__(self, request: Request) -> Reply:
        """The model's reply; `attempts` are all that failed before it.

        Raises:
            ModelCallError: there is none; `attempts` are all that were made.
            RunStoppedError: the endpoint takes no more requests; its cause is a ModelCallError with all attempts.
        """
        try:
            return await self._model(request)
        except ModelCallError as error:
            return await self._again(request, error)

    async def _again(self, request: Request, error: ModelCallError) -> Reply:
        """The reply of a later attempt."""
        clock = asyncio.get_running_loop().time
        started, failed, faults = clock(), 0, 0
        attempts: tuple[Attempt, ...] = ()
        while True:
            attempts += error.attempts
            failed += 1
            faults += not _met_a_limit(error)
            seconds = clock() - started
            if self._is_over(error, failed, faults, seconds):
                raise _final(error, attempts, failed, seconds, self._patience) from None
            with current_trial_context().waiting():
                await asyncio.sleep(self._wait(error, faults))
            try:
                reply = await self._model(request)
            except ModelCallError as later:
                error = later
            except RunStoppedError as stopped:
                raise RunStoppedError(str(stopped)) from _last(stopped, error, attempts)
            else:
                return replace(reply, attempts=(*attempts, *reply.attempts))

    def _is_over(self, error: ModelCallError, failed: int, faults: int, seconds: float) -> bool:
        """Whether the call is not to be sent again."""
        patience = self._patience
        return (
            error.fault != "transient"
            or (error.retry_after or 0.0) > patience.most_asked
            or faults > patience.retries
            or failed > _MOST_RETRIES
            or seconds > patience.most_total
        )

    def _wait(self, error: ModelCallError, faults: int) -> float:
        """Seconds until the next attempt: any time up to the backoff, and no sooner than the endpoint asks for.

        The backoff doubles with each fault of the server. It does not with a limit: the gate holds everybody for as long as
        the endpoint asks for, and finds the pace that it takes; calls that backed off would wait at an endpoint that has
        long been free.
        """
        if _met_a_limit(error) and error.retry_after == 0:
            return 0.0  # now
        backoff = self._patience.backoff(1 if _met_a_limit(error) else faults)
        return max(error.retry_after or 0.0, self._chance.uniform(0.0, backoff))


def _met_a_limit(error: ModelCallError) -> bool:
    return bool(error.attempts) and error.attempts[-1].status == _LIMIT


def _last(stopped: RunStoppedError, error: ModelCallError, attempts: tuple[Attempt, ...]) -> BaseException:
    """What ended a call before it was sent again, with all attempts: they are kept, and may have been paid for."""
    cause = stopped.__cause__ or error
    if not isinstance(cause, ModelCallError):
        return cause
    more = () if cause is error else cause.attempts
    return ModelCallError(str(cause), fault=cause.fault, attempts=(*attempts, *more))


def _final(
    error: ModelCallError, attempts: tuple[Attempt, ...], failed: int, seconds: float, patience: RetryPolicy
) -> ModelCallError:
    """The error of the whole call."""
    message = str(error)
    if error.fault == "transient" and (error.retry_after or 0.0) > patience.most_asked:
        message = too_long(error, patience)
    elif failed > 1:
        message = f"{message} It was sent {count(failed, 'time')} in {seconds:.0f} s."
    return ModelCallError(message, fault=error.fault, attempts=attempts, retry_after=error.retry_after)
