"""A chat model that retries calls after transient errors."""

import asyncio
from dataclasses import replace
from random import Random

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError, RunStoppedError
from evalmark.core.protocols import ChatModel
from evalmark.core.text import count
from evalmark.core.values.call import Attempt, Reply, Request

from .rate_limits import DEFAULT_RETRY_POLICY, RetryPolicy
from .throttle import too_long

_LIMIT = 429
_MOST_RETRIES = 200
"""Most attempts of one call, rejections by rate limits included."""


class RetryingModel:
    """A model that retries transient errors, with exponential backoff and random jitter."""

    def __init__(
        self, model: ChatModel, policy: RetryPolicy = DEFAULT_RETRY_POLICY, random: Random | None = None
    ) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._policy = model, policy
        self._random = random or Random()  # noqa: S311  jitter is no secret

    async def __call__(self, request: Request) -> Reply:
        """Return the reply of the model; its `attempts` are the failed ones before it.

        Raises:
            ModelCallError: All attempts failed; `attempts` lists them.
            RunStoppedError: The endpoint accepts no more requests; the cause is a ModelCallError with all attempts.
        """
        try:
            return await self._model(request)
        except ModelCallError as error:
            return await self._retry(request, error)

    async def _retry(self, request: Request, error: ModelCallError) -> Reply:
        """Retry after a first failed attempt."""
        clock = asyncio.get_running_loop().time
        started, failed, faults = clock(), 0, 0
        attempts: tuple[Attempt, ...] = ()
        while True:
            attempts += error.attempts
            failed += 1
            faults += not _is_rate_limited(error)
            seconds = clock() - started
            if self._is_over(error, failed, faults, seconds):
                raise _final(error, attempts, failed, seconds, self._policy) from None
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
        """Whether the call is not sent again."""
        policy = self._policy
        return (
            error.fault != "transient"
            or (error.retry_after or 0.0) > policy.most_asked
            or faults > policy.retries
            or failed > _MOST_RETRIES
            or seconds > policy.most_total
        )

    def _wait(self, error: ModelCallError, faults: int) -> float:
        """Return the seconds until the next attempt: a random time up to the backoff, at least what the endpoint asks for.

        The backoff doubles with each error of the server, but not with rejections by a rate limit: the throttle of the
        endpoint slows all calls down then, and longer backoffs would leave the endpoint idle.
        """
        if _is_rate_limited(error) and error.retry_after == 0:
            return 0.0
        backoff = self._policy.backoff(1 if _is_rate_limited(error) else faults)
        return max(error.retry_after or 0.0, self._random.uniform(0.0, backoff))


def _is_rate_limited(error: ModelCallError) -> bool:
    return bool(error.attempts) and error.attempts[-1].status == _LIMIT


def _last(stopped: RunStoppedError, error: ModelCallError, attempts: tuple[Attempt, ...]) -> BaseException:
    """The cause of a stopped call with all attempts: they are logged, and may have been billed."""
    cause = stopped.__cause__ or error
    if not isinstance(cause, ModelCallError):
        return cause
    more = () if cause is error else cause.attempts
    return ModelCallError(str(cause), fault=cause.fault, attempts=(*attempts, *more))


def _final(
    error: ModelCallError, attempts: tuple[Attempt, ...], failed: int, seconds: float, policy: RetryPolicy
) -> ModelCallError:
    """The error of the whole call, with all attempts."""
    message = str(error)
    if error.fault == "transient" and (error.retry_after or 0.0) > policy.most_asked:
        message = too_long(error, policy)
    elif failed > 1:
        message = f"{message} It was sent {count(failed, 'time')} in {seconds:.0f} s."
    return ModelCallError(message, fault=error.fault, attempts=attempts, retry_after=error.retry_after)
