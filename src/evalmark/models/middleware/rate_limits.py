"""How fast an endpoint may be asked: what the user allows, and buckets that hold to it."""

from dataclasses import dataclass

MINUTE = 60.0
_AT_ONCE = 60
"""A limit of this many a minute may let one of them go at once; one twice as large, two: many providers count by the second."""
_ALMOST = 1e-9
"""What rounding may leave a bucket short of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """How fast one endpoint may be asked."""

    start: int = 8
    """Calls at a time in the beginning; from there it doubles with each round of replies until the first 429."""
    most: int = 256
    """Calls at a time, however well it goes."""
    rpm: int | None = None
    """Requests in any minute; None: what the endpoint's headers say, if they say anything."""
    tpm: int | None = None
    """Tokens in any minute, as far as they can be known beforehand; None: what the headers say."""


DEFAULT_RATE_LIMITS = RateLimits()


class TokenBucket:
    """Lets so much through in any minute, evenly, and a sixtieth of it at once.

    A token bucket that holds `b` and fills at `(n - b + 1) / 60` a second lets at most `n` units through in
    any 60 seconds.
    """

    def __init__(self, per_minute: int, now: float) -> None:
        self._most = float(max(1, per_minute // _AT_ONCE))
        self._rate = (per_minute - self._most + 1) / MINUTE
        self._level, self._then = self._most, now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until so much may go; 0: now. What is larger than the bucket goes when it is full, on credit."""
        short = min(amount, self._most) - self._filled(now)
        return short / self._rate if short > _ALMOST else 0.0

    def take(self, amount: float, now: float) -> None:
        """Let so much go; a negative amount is given back."""
        self._level = self._filled(now) - amount
        self._then = now

    def _filled(self, now: float) -> float:
        return min(self._most, self._level + (now - self._then) * self._rate)
