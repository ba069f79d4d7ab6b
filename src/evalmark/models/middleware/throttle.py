"""The one gate in front of an endpoint: how many calls at a time, how fast, and when none at all."""

import asyncio
from dataclasses import dataclass
from random import Random

from evalmark.core.errors import ModelCallError, RunStoppedError
from evalmark.core.fair_queue import FairQueue
from evalmark.core.values.call import Reply

from .adaptive_rate import AdaptiveRate
from .patience import DEFAULT_RETRY_POLICY, RetryPolicy
from .quota import RemainingQuota
from .rate_limits import DEFAULT_RATE_LIMITS, RateLimits, TokenBucket

_LIMIT = 429
_NEARER = 8.0
"""Rounds of replies in which a gate would come back to where it met a limit, were it not slower the nearer it is."""
_FOR_EVER = 1e12
"""Seconds that nobody reads any more: some 30,000 years."""


@dataclass(slots=True, eq=False)
class Permit:
    """One call's place among those under way."""

    tokens: int
    """What it is expected to take."""
    number: int = 0
    """Which one it is of all that were let go."""
    departed: float = 0.0
    """When it was let go."""
    is_known: bool = False
    """Whether it is known what came of it."""


class Throttle:
    """The gate that all callers of one endpoint share, on one event loop.

    Callers are let go in the order in which they came. How many are under way at a time grows with each reply, is
    halved by a 429 (once, however many of those under way meet it), and does not change with other errors. It comes back
    fast where it is far below the number at which the limit was met, slowly around it, and faster again beyond. While
    an endpoint asks to be left alone, nobody goes.
    """

    def __init__(
        self,
        pace: RateLimits = DEFAULT_RATE_LIMITS,
        patience: RetryPolicy = DEFAULT_RETRY_POLICY,
        chance: Random | None = None,
    ) -> None:
        self.closed: str | None = None
        """Why the endpoint takes no more requests in this run; None while it does."""
        self._pace, self._patience = pace, patience
        self._chance = chance or Random()  # noqa: S311  jitter is no secret
        self._line: FairQueue[Permit] = FairQueue(self._serve, self.leave)
        self._room = float(min(pace.start, pace.most))
        self._under_way = 0
        self._departed = 0
        self._cut_at = 0
        self._met_at = self._room
        """How many were let go at a time when the last limit was met."""
        self._streak = 0
        self._is_halved = False
        """Whether the last limit halved the room, and nothing from before it has been accepted since."""
        self._adaptive = AdaptiveRate()
        self._resume = 0.0
        self._silent_since: float | None = None
        self._answered = False
        self._buckets: tuple[TokenBucket | None, TokenBucket | None] | None = None
        self._requests = RemainingQuota.of_requests(patience.most_asked)
        self._tokens = RemainingQuota.of_tokens(patience.most_asked)
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def room(self) -> int:
        """How many calls may be under way at a time, as things are now."""
        return int(self._room)

    @property
    def under_way(self) -> int:
        """How many calls are under way."""
        return self._under_way

    @property
    def waiting(self) -> int:
        """How many callers wait for their turn."""
        return len(self._line)

    def pause_left(self) -> float:
        """Seconds for which nobody is let go, because the endpoint asked for it."""
        return max(0.0, self._resume - asyncio.get_running_loop().time())

    def at_once(self, tokens: int) -> Permit | None:
        """A place that is free now; None where the caller has to wait for one.

        Raises:
            RunStoppedError: the endpoint takes no more requests.
        """
        place = Permit(tokens)
        return place if self._line.at_once(place) else None

    async def enter(self, tokens: int = 0, *, first: bool = False) -> Permit:
        """Wait for a place among the calls under way; `leave` gives it back. `first` goes before all who wait.

        Raises:
            RunStoppedError: the endpoint takes no more requests.
        """
        place = Permit(tokens)
        await self._line.wait(place, first=first)
        return place

    def leave(self, place: Permit) -> None:
        """Give the place back."""
        if not place.is_known:
            self._adaptive.unsent(place.number)
        self._under_way -= 1
        self._line.move()

    def heard(self, place: Permit, reply: Reply) -> None:
        """A reply came: let more go at a time, and take in what its headers say."""
        now = asyncio.get_running_loop().time()
        self._answered = True
        self._accepted(place, now)
        if place.number > self._cut_at:  # earlier ones say nothing of the pace since
            self._grow()
        taken, most = _taken(reply), self._pace.tpm
        if taken is not None and most is not None and (bucket := self._flow(now)[1]) is not None:
            # An absurd count, which no endpoint with this limit can have let through, must not hold the others up.
            bucket.take(min(taken, max(place.tokens, most)) - place.tokens, now)
        if reply.headers:
            others = self._under_way - 1
            if self._pace.rpm is None:
                self._requests.hear(reply.headers, others, now)
            if self._pace.tpm is None:
                self._tokens.hear(reply.headers, others * place.tokens, now)

    def failed(self, place: Permit, error: ModelCallError) -> None:
        """An attempt failed: pause, slow down or close, as the error asks for.

        Raises:
            RunStoppedError: the endpoint takes no more requests.
        """
        status = error.attempts[-1].status if error.attempts else None
        if error.fault == "closed":
            self._close(str(error))
        elif error.fault == "transient":
            self._close_if_silent(error)
            if (error.retry_after or 0.0) > self._patience.most_asked:
                self._close(too_long(error, self._patience))
            elif status == _LIMIT:
                self._meet_limit(place, error.retry_after or 0.0)
            else:
                self._accepted(place, asyncio.get_running_loop().time())
                self._pause(error.retry_after or 0.0)
        if self.closed is not None:
            raise RunStoppedError(self.closed) from error

    def _close_if_silent(self, error: ModelCallError) -> None:
        """Close when there has never been anything but attempts without a response."""
        if not error.attempts or error.attempts[-1].status is not None:
            self._answered = True
            return
        now = asyncio.get_running_loop().time()
        if self._silent_since is None:
            self._silent_since = now
        silence = now - self._silent_since
        if not self._answered and silence > self._patience.most_silence:
            self._close(
                f"{error} It has answered nothing in {silence:.0f} s of trying. Check its address and whether it is "
                "running, and go on with --resume."
            )

    def _grow(self) -> None:
        """One call more at a time with each reply; after the first 429, as many with each round of them as is far to it.

        With thousands under way, one more each round would leave most of a limit unused for an hour. The curve is that
        of BIC, which does the same for lines that carry much and answer late (Xu, Harfoush and Rhee, 2004).
        """
        self._streak = 0
        if 2 * self._under_way >= self._room:
            more = max(1.0, abs(self._met_at - self._room) / _NEARER) / self._room if self._cut_at else 1.0
            self._room = min(float(self._pace.most), self._room + more)

    def _accepted(self, place: Permit, now: float) -> None:
        place.is_known = True
        if place.number <= self._cut_at and self._is_halved:  # not all of those that were under way met the limit
            self._room, self._is_halved = max(self._room, self._met_at), False
        self._adaptive.accepted(place.number, now, now - place.departed)

    def _meet_limit(self, place: Permit, asked: float) -> None:
        """Slow down once for all that were under way, and halve the room where none of them was accepted."""
        place.is_known = True
        now = asyncio.get_running_loop().time()
        if self._adaptive.turned_down(place.number, now, is_told=asked > 0):
            self._cut_at = self._departed
            if self._adaptive.was_futile:
                self._met_at, self._room, self._is_halved = self._room, max(1.0, self._room / 2), True
                self._streak += 1
                asked = asked or self._patience.backoff(self._streak) * self._chance.uniform(0.5, 1.0)
        self._pause(asked)

    def _pause(self, seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        self._resume = max(self._resume, now + seconds)
        self._adaptive.paused(now, seconds)

    def _close(self, why: str) -> None:
        self.closed = self.closed or why  # those who wait hear of it as soon as this call leaves

    def _serve(self, place: Permit) -> bool:
        """Let a caller go, if it may."""
        if self.closed is not None:
            raise RunStoppedError(self.closed)
        if self._under_way >= int(self._room):
            return False
        now = asyncio.get_running_loop().time()
        if (wait := self._wait(place, now)) > 0.0:
            self._wake(now + wait)
            return False
        self._departed += 1
        self._under_way += 1
        place.number, place.departed, place.is_known = self._departed, now, False
        self._adaptive.sent(place.number, now)
        for bucket, amount in zip(self._flow(now), (1, place.tokens), strict=True):
            if bucket is not None:
                bucket.take(amount, now)
        self._requests.take(1)
        self._tokens.take(place.tokens)
        return True

    def _wait(self, place: Permit, now: float) -> float:
        """Seconds until this caller may go; 0: now."""
        requests, tokens = self._flow(now)
        return max(
            self._resume - now,
            self._adaptive.wait(now),
            0.0 if requests is None else requests.wait(1, now),
            0.0 if tokens is None else tokens.wait(place.tokens, now),
            self._requests.wait(1, now),
            self._tokens.wait(place.tokens, now),
        )

    def _flow(self, now: float) -> tuple[TokenBucket | None, TokenBucket | None]:
        """The buckets for requests and for tokens, full when the first caller comes."""
        if self._buckets is None:
            rpm, tpm = (
                None if limit is None else TokenBucket(limit, now) for limit in (self._pace.rpm, self._pace.tpm)
            )
            self._buckets = (rpm, tpm)
        return self._buckets

    def _wake(self, moment: float) -> None:
        """Look again at that moment."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(moment, self._line.move)


def _taken(reply: Reply) -> int | None:
    """The tokens of a reply, in and out; None where the provider did not say."""
    used = reply.usage
    if used.input_tokens is None or used.output_tokens is None:
        return None
    return used.input_tokens + used.output_tokens


def too_long(error: ModelCallError, patience: RetryPolicy) -> str:
    """Why a call ends whose endpoint asks for a wait that is too long."""
    asked = error.retry_after or 0.0
    told = f"for {asked:,.0f} s" if asked < _FOR_EVER else "for ever"
    return (
        f"{error} It asks to be left alone {told}, longer than the {patience.most_asked:,.0f} s "
        "that a call waits. Go on later with --resume."
    )
