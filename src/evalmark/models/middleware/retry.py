"""A chat model that retries calls after transient errors."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import TypeVar

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError, RunStoppedError
from evalmark.core.protocols import ChatModel
from evalmark.core.text import count
from evalmark.core.values.call import Attempt, Reply, Request

from .rate_limits import DEFAULT_RETRY_POLICY, RetryPolicy
from .throttle import too_long

T = TypeVar("T")

_LIMIT = 429
_MOST_RETRIES = 200
"""Most attempts of one call, rejections by rate limits included."""


class RetryingModel:
    """A model that retries transient errors, with exponential backoff and random jitter."""

    def __init__(
        self, model: ChatModel, policy: RetryPolicy = DEFAULT_RETRY_POLICY, random: Random | None = None
    ) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._policy, self._random = model, policy, random

    async def __call__(self, request: Request) -> Reply:
        """Return the reply of the model; its `attempts` are the failed ones before it. Raises what `send_with_retries` raises."""
        reply, attempts = await send_with_retries(partial(self._model, request), self._policy, self._random)
        return replace(reply, attempts=(*attempts, *reply.attempts)) if attempts else reply


async def send_with_retries(
    send: Callable[[], Awaitable[T]], policy: RetryPolicy, random: Random | None = None
) -> tuple[T, tuple[Attempt, ...]]:
    """Send a request until it succeeds; return the result and the failed attempts before it.

    Raises:
        ModelCallError: All attempts failed; `attempts` lists them.
        RunStoppedError: The endpoint accepts no more requests; the cause is a ModelCallError with all attempts.
    """
    try:
        return await send(), ()
    except ModelCallError as first:
        error = first
    random = random or Random()  # noqa: S311  jitter is not a secret
    clock = asyncio.get_running_loop().time
    started, failed, faults = clock(), 0, 0
    attempts: tuple[Attempt, ...] = ()
    while True:
        attempts += error.attempts
        failed += 1
        faults += not _is_rate_limited(error)
        seconds = clock() - started
        if _is_over(policy, error, failed, faults, seconds):
            raise _final(error, attempts, failed, seconds, policy) from None
        with current_trial_context().waiting():
            await asyncio.sleep(_wait(policy, error, faults, random))
        try:
            return await send(), attempts
        except ModelCallError as later:
            error = later
        except RunStoppedError as stopped:
            raise RunStoppedError(str(stopped)) from _last(stopped, error, attempts)


def _is_over(policy: RetryPolicy, error: ModelCallError, failed: int, faults: int, seconds: float) -> bool:
    return (
        error.fault != "transient"
        or (error.retry_after or 0.0) > policy.longest_pause
        or faults > policy.retries
        or failed > _MOST_RETRIES
        or seconds > policy.most_total
    )


def _wait(policy: RetryPolicy, error: ModelCallError, faults: int, random: Random) -> float:
    """Return the seconds until the next attempt: a random time up to the backoff, at least what the endpoint asks for.

    The backoff doubles with each error of the server, but not with rejections by a rate limit: the throttle of the
    endpoint slows all calls down then, and longer backoffs would leave the endpoint idle.
    """
    if _is_rate_limited(error) and error.retry_after == 0:
        return 0.0
    backoff = policy.backoff(1 if _is_rate_limited(error) else faults)
    return max(error.retry_after or 0.0, random.uniform(0.0, backoff))


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
    message = str(error)
    if error.fault == "transient" and (error.retry_after or 0.0) > policy.longest_pause:
        message = too_long(error, policy)
    elif failed > 1:
        message = f"{message} It was sent {count(failed, 'time')} in {seconds:.0f} s."
    return ModelCallError(message, fault=error.fault, attempts=attempts, retry_after=error.retry_after)
