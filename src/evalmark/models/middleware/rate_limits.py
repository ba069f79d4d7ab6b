"""Settings of rate limits and retries, and the token bucket that enforces a limit per minute."""

from dataclasses import dataclass

MINUTE = 60.0
_AT_ONCE = 60
"""Requests a minute for each request that may be sent at once, since many providers count by the second."""
_ALMOST = 1e-9
"""Tolerance for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """The limits of one endpoint."""

    start: int = 8
    """Calls in flight at the start; it doubles with each round of replies until the first 429."""
    most: int = 256
    """Most calls in flight."""
    rpm: int | None = None
    """Requests a minute; None: the limit in the headers of the endpoint, if there is one."""
    tpm: int | None = None
    """Tokens a minute, estimated before a call; None: the limit in the headers of the endpoint."""


DEFAULT_RATE_LIMITS = RateLimits()


class TokenBucket:
    """A token bucket: at most `per_minute` units in any minute, evenly spread.

    A bucket that holds `b` and fills at `(n - b + 1) / 60` a second lets at most `n` units through in
    any 60 seconds.
    """

    def __init__(self, per_minute: int, now: float) -> None:
        self._most = float(max(1, per_minute // _AT_ONCE))
        self._rate = (per_minute - self._most + 1) / MINUTE
        self._level, self._then = self._most, now

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` may be sent; 0: now. An amount larger than the bucket waits until it is full."""
        short = min(amount, self._most) - self._filled(now)
        return short / self._rate if short > _ALMOST else 0.0

    def take(self, amount: float, now: float) -> None:
        """Take `amount` out of the bucket; a negative amount is put back."""
        self._level = self._filled(now) - amount
        self._then = now

    def _filled(self, now: float) -> float:
        return min(self._most, self._level + (now - self._then) * self._rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a failed call is sent again, and how long it waits before."""

    retries: int = 5
    """Attempts after the first one; those rejected with 429 do not count, `most_total` limits them."""
    most_wait: float = 60.0
    """The longest backoff in seconds."""
    longest_pause: float = 300.0
    """The longest wait in seconds that an endpoint may ask for; a longer one stops the run."""
    most_total: float = 900.0
    """Seconds after the first failed attempt from which a call is not sent again."""
    most_silence: float = 20.0
    """Seconds without any response of an endpoint since the start of the run after which the run is stopped."""
    most_refusal: float = 1.0
    """The same where connections are refused or no server has that name: a server that is being started gets that long."""
    first_wait: float = 0.5
    """The longest backoff after the first failed attempt, in seconds; it doubles with each attempt."""

    def backoff(self, failed: int) -> float:
        """Return the longest wait in seconds after `failed` attempts.

        >>> [RetryPolicy().backoff(failed) for failed in (1, 2, 3, 20)]
        [0.5, 1.0, 2.0, 60.0]
        """
        return min(self.most_wait, self.first_wait * 2.0 ** min(failed - 1, 60))


DEFAULT_RETRY_POLICY = RetryPolicy()
