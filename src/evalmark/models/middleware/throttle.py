"""The throttle of an endpoint: how many calls are in flight, how fast they are sent, and when none are."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TypeVar

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError, RunStoppedError
from evalmark.core.fair_queue import FairQueue
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request

from .adaptive_rate import AdaptiveRate
from .keyed_request import plain_request
from .quota import RemainingQuota
from .rate_limits import DEFAULT_RATE_LIMITS, DEFAULT_RETRY_POLICY, RateLimits, RetryPolicy, TokenBucket
from .token_estimate import estimate_tokens

T = TypeVar("T")

_LIMIT = 429
_RECOVERY_ROUNDS = 8.0
"""Rounds of replies for the way back to the last limit, at the speed of the first of them; it slows down on the way."""
_FOREVER = 1e12
"""Seconds; a longer pause is reported as `forever`."""


@dataclass(slots=True, eq=False)
class Permit:
    """The permit of one call to be in flight."""

    tokens: int
    """The estimated tokens of the call."""
    number: int = 0
    """Its number among all permits, from 1."""
    granted: float = 0.0
    """When it was granted."""
    is_known: bool = False
    """Whether the outcome of the call is known."""


class Throttle:
    """Limits the calls to one endpoint; shared by all its callers on one event loop.

    Calls are sent in the order in which they came. The number of calls in flight grows with each reply, is halved by a 429
    (once for all calls in flight), and does not change with other errors. It recovers quickly while far below the number at
    which the last limit was met, slowly near it, and quickly again beyond. While the endpoint asks for a pause, no call is
    sent.
    """

    def __init__(
        self,
        limits: RateLimits = DEFAULT_RATE_LIMITS,
        policy: RetryPolicy = DEFAULT_RETRY_POLICY,
        random: Random | None = None,
    ) -> None:
        self.closed: str | None = None
        """Why no more requests are sent to the endpoint in this run; None while they are."""
        self._limits, self._policy = limits, policy
        self._random = random or Random()  # noqa: S311  jitter is not a secret
        self._queue: FairQueue[Permit] = FairQueue(self._serve, self.release)
        self._allowed = float(min(limits.start, limits.most))
        self._in_flight = 0
        self._granted = 0
        self._cut_at = 0
        self._limit_met_at = self._allowed
        """The number of calls in flight that were allowed when the last limit was met."""
        self._streak = 0
        self._is_halved = False
        """Whether the last limit halved that number, and no request sent before it has been accepted since."""
        self._adaptive = AdaptiveRate()
        self._resume = 0.0
        self._silent_since: float | None = None
        self._answered = False
        self._buckets: tuple[TokenBucket | None, TokenBucket | None] | None = None
        self._requests = RemainingQuota.of_requests(policy.longest_pause)
        self._tokens = RemainingQuota.of_tokens(policy.longest_pause)
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def max_in_flight(self) -> int:
        """How many calls may be in flight at present."""
        return int(self._allowed)

    @property
    def in_flight(self) -> int:
        """How many calls are in flight."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """How many callers wait."""
        return len(self._queue)

    def pause_left(self) -> float:
        """The seconds left of a pause that the endpoint asked for."""
        return max(0.0, self._resume - asyncio.get_running_loop().time())

    def try_acquire(self, tokens: int) -> Permit | None:
        """Return a permit if a call may be sent now; None if the caller has to wait.

        Raises:
            RunStoppedError: The endpoint accepts no more requests.
        """
        permit = Permit(tokens)
        return permit if self._queue.try_acquire(permit) else None

    async def acquire(self, tokens: int = 0, *, first: bool = False) -> Permit:
        """Wait for a permit, which `release` gives back; `first` goes before all waiting callers.

        Raises:
            RunStoppedError: The endpoint accepts no more requests.
        """
        permit = Permit(tokens)
        await self._queue.acquire(permit, first=first)
        return permit

    def release(self, permit: Permit) -> None:
        """Give a permit back."""
        if not permit.is_known:
            self._adaptive.unsent(permit.number)
        self._in_flight -= 1
        self._queue.advance()

    def record_reply(self, permit: Permit, reply: Reply) -> None:
        """Count a reply: allow more calls in flight, and read the limits in its headers."""
        now = asyncio.get_running_loop().time()
        self._answered = True
        self._accepted(permit, now)
        if permit.number > self._cut_at:  # replies to requests sent before the last limit do not count
            self._grow()
        taken, most = _taken(reply), self._limits.tpm
        if taken is not None and most is not None and (bucket := self._flow(now)[1]) is not None:
            # Limits the effect of an absurd count, which no endpoint with this limit can have allowed.
            bucket.take(min(taken, max(permit.tokens, most)) - permit.tokens, now)
        if reply.headers:
            others = self._in_flight - 1
            if self._limits.rpm is None:
                self._requests.update(reply.headers, others, now)
            if self._limits.tpm is None:
                self._tokens.update(reply.headers, others * permit.tokens, now)

    def record_failure(self, permit: Permit, error: ModelCallError) -> None:
        """Count a failed attempt: pause, slow down or close, depending on the error.

        Raises:
            RunStoppedError: The endpoint accepts no more requests.
        """
        status = error.attempts[-1].status if error.attempts else None
        if error.fault == "closed":
            self._close(str(error))
        elif error.fault == "transient":
            self._close_if_silent(error)
            if (error.retry_after or 0.0) > self._policy.longest_pause:
                self._close(too_long(error, self._policy))
            elif status == _LIMIT:
                self._meet_limit(permit, error.retry_after or 0.0)
            else:
                self._accepted(permit, asyncio.get_running_loop().time())
                self._pause(error.retry_after or 0.0)
        if self.closed is not None:
            raise RunStoppedError(self.closed) from error

    def _close_if_silent(self, error: ModelCallError) -> None:
        """Close if the endpoint has never sent any response."""
        if not error.attempts or error.attempts[-1].status is not None:
            self._answered = True
            return
        now = asyncio.get_running_loop().time()
        if self._silent_since is None:
            self._silent_since = now
        silence = now - self._silent_since
        if self._answered:
            return
        if error.is_unreachable and (silence > self._policy.most_refusal or not self._policy.retries):
            self._close(f"{error} Then continue with --resume.")
        elif silence > self._policy.most_silence:
            self._close(
                f"{error} No attempt has had a response for {silence:.0f} s. Check the address and whether the server is "
                "running, then continue with --resume."
            )

    def _grow(self) -> None:
        """Allow one more call in flight with each reply; after the first 429 in proportion to the distance from that limit.

        With thousands of calls in flight, one more in each round of replies would leave most of a limit unused for an hour.
        The curve is that of BIC congestion control for fast networks with high latency (Xu, Harfoush and Rhee, 2004).
        """
        self._streak = 0
        if 2 * self._in_flight >= self._allowed:
            more = (
                max(1.0, abs(self._limit_met_at - self._allowed) / _RECOVERY_ROUNDS) / self._allowed
                if self._cut_at
                else 1.0
            )
            self._allowed = min(float(self._limits.most), self._allowed + more)

    def _accepted(self, permit: Permit, now: float) -> None:
        permit.is_known = True
        if permit.number <= self._cut_at and self._is_halved:  # some of the requests in flight did not meet the limit
            self._allowed, self._is_halved = max(self._allowed, self._limit_met_at), False
        self._adaptive.accepted(permit.number, now, now - permit.granted)

    def _meet_limit(self, permit: Permit, pause: float) -> None:
        """Slow down once for all requests in flight; halve the number allowed if none of them was accepted."""
        permit.is_known = True
        now = asyncio.get_running_loop().time()
        if self._adaptive.rejected(permit.number, now, is_stated=pause > 0):
            self._cut_at = self._granted
            if self._adaptive.was_futile:
                self._limit_met_at, self._allowed, self._is_halved = self._allowed, max(1.0, self._allowed / 2), True
                self._streak += 1
                pause = pause or self._policy.backoff(self._streak) * self._random.uniform(0.5, 1.0)
        self._pause(pause)

    def _pause(self, seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        self._resume = max(self._resume, now + seconds)
        self._adaptive.paused(now, seconds)

    def _close(self, why: str) -> None:
        self.closed = self.closed or why  # waiting callers get the error when this call releases its permit

    def _serve(self, permit: Permit) -> bool:
        if self.closed is not None:
            raise RunStoppedError(self.closed)
        if self._in_flight >= int(self._allowed):
            return False
        now = asyncio.get_running_loop().time()
        if (wait := self._wait(permit, now)) > 0.0:
            self._wake(now + wait)
            return False
        self._granted += 1
        self._in_flight += 1
        permit.number, permit.granted, permit.is_known = self._granted, now, False
        self._adaptive.sent(permit.number, now)
        for bucket, amount in zip(self._flow(now), (1, permit.tokens), strict=True):
            if bucket is not None:
                bucket.take(amount, now)
        self._requests.take(1)
        self._tokens.take(permit.tokens)
        return True

    def _wait(self, permit: Permit, now: float) -> float:
        """Return the seconds until a call may be sent; 0: now."""
        requests, tokens = self._flow(now)
        return max(
            self._resume - now,
            self._adaptive.wait(now),
            0.0 if requests is None else requests.wait(1, now),
            0.0 if tokens is None else tokens.wait(permit.tokens, now),
            self._requests.wait(1, now),
            self._tokens.wait(permit.tokens, now),
        )

    def _flow(self, now: float) -> tuple[TokenBucket | None, TokenBucket | None]:
        """The buckets for requests and tokens, created full with the first call."""
        if self._buckets is None:
            rpm, tpm = (
                None if limit is None else TokenBucket(limit, now) for limit in (self._limits.rpm, self._limits.tpm)
            )
            self._buckets = (rpm, tpm)
        return self._buckets

    def _wake(self, moment: float) -> None:
        """Serve the waiting callers again at that time."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(moment, self._queue.advance)


def _taken(reply: Reply) -> int | None:
    """The input and output tokens of a reply; None if the provider did not report them."""
    used = reply.usage
    if used.input_tokens is None or used.output_tokens is None:
        return None
    return used.input_tokens + used.output_tokens


def too_long(error: ModelCallError, policy: RetryPolicy) -> str:
    """The error message for an endpoint that asks for too long a wait."""
    seconds = error.retry_after or 0.0
    wait = f"{seconds:,.0f} s" if seconds < _FOREVER else "forever"
    return (
        f"{error} The server asks to wait {wait}, and calls wait at most {policy.longest_pause:,.0f} s. "
        "Continue later with --resume."
    )


async def send_limited(
    throttle: Throttle,
    tokens: int,
    send: Callable[[], Awaitable[T]],
    before: Callable[[], Awaitable[None]] | None = None,
) -> T:
    """Send a request of so many estimated tokens once the throttle of its endpoint permits it. Raises what `send` raises.

    `before` is awaited right before the request is sent.

    Raises:
        RunStoppedError: The endpoint accepts no more requests.
    """
    permit = await _acquire(throttle, tokens, before)
    try:
        result = await send()
        throttle.record_reply(permit, result if isinstance(result, Reply) else _NO_REPLY)
    except ModelCallError as error:
        throttle.record_failure(permit, error)
        raise
    finally:
        throttle.release(permit)
    return result


_NO_REPLY = Reply()


async def _acquire(throttle: Throttle, tokens: int, before: Callable[[], Awaitable[None]] | None) -> Permit:
    permit = throttle.try_acquire(tokens)
    if permit is None:
        with current_trial_context().waiting():
            permit = await throttle.acquire(tokens)
    if before is not None:
        try:
            await before()
        except BaseException:
            throttle.release(permit)
            raise
    while throttle.pause_left() or throttle.closed:  # another call has met a limit meanwhile
        throttle.release(permit)
        with current_trial_context().waiting():
            permit = await throttle.acquire(tokens, first=True)
    return permit


class LimitedModel:
    """A model whose calls wait for the throttle of its endpoint.

    `before` is awaited with each request right before it is sent.
    """

    def __init__(
        self, model: ChatModel, throttle: Throttle, before: Callable[[Request], Awaitable[None]] | None = None
    ) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._throttle, self._before = model, throttle, before

    async def __call__(self, request: Request) -> Reply:
        """Wait for a permit and call the model. Raises what the model and `send_limited` raise."""
        before = None if self._before is None else partial(self._before, request)
        send = partial(self._model, plain_request(request))
        return await send_limited(self._throttle, estimate_tokens(request), send, before)
