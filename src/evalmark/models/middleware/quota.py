"""The remaining quota of an endpoint, as the headers of its responses state it."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_REQUESTS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
)
_TOKENS = (
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
)
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d))+")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_COUNT = re.compile(r"[0-9]{1,18}")
_LONGEST = 60
"""Characters; a longer text is not parsed as a time."""


class RemainingQuota:
    """The requests or tokens that an endpoint still accepts until its limit is reset.

    Requests that were in flight when a response came are assumed not to be counted in it yet, which is the cautious choice.
    """

    def __init__(self, names: tuple[tuple[str, str], ...], longest: float) -> None:
        self._names, self._longest = names, longest
        self._left: float | None = None
        self._reset = ("", "", 0.0)
        """The reset header, the date header, and the time of the response."""

    @classmethod
    def of_requests(cls, longest: float) -> "RemainingQuota":
        """Track remaining requests; resets more than `longest` seconds away are ignored."""
        return cls(_REQUESTS, longest)

    @classmethod
    def of_tokens(cls, longest: float) -> "RemainingQuota":
        """Track remaining tokens."""
        return cls(_TOKENS, longest)

    def update(self, headers: Mapping[str, str], in_flight: float, now: float) -> None:
        """Read the headers of a response; without the headers of a limit nothing changes."""
        for remaining, reset in self._names:
            if (left := headers.get(remaining)) and _COUNT.fullmatch(left):
                self._left = int(left) - in_flight
                self._reset = (headers.get(reset, ""), headers.get("date", ""), now)
                return

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` may be sent; 0: now."""
        if self._left is None or amount <= self._left:
            return 0.0
        reset, date, then = self._reset
        seconds = seconds_until_reset(reset, date)
        if seconds is None or seconds > self._longest or now >= then + seconds:
            self._left = None
            return 0.0
        return then + seconds - now

    def take(self, amount: float) -> None:
        """Subtract `amount`, which is being sent."""
        if self._left is not None:
            self._left -= amount


def seconds_until_reset(text: str, date: str) -> float | None:
    """Return the seconds until a limit is reset; None if the header cannot be read, or is a time and `date` is missing.

    >>> seconds_until_reset("1m30s", ""), seconds_until_reset("12", ""), seconds_until_reset("soon", "")
    (90.0, 12.0, None)
    >>> seconds_until_reset("2026-01-01T00:00:05Z", "Thu, 01 Jan 2026 00:00:00 GMT")
    5.0
    """
    if not text or len(text) > _LONGEST:
        return None
    if _DURATION.fullmatch(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
    if _NUMBER.fullmatch(text):
        return float(text)
    now, then = _moment(date), None if text.isdigit() else _moment(text)
    return None if now is None or then is None else max(0.0, (then - now).total_seconds())


def _moment(text: str) -> datetime | None:
    """Parse an ISO 8601 time or an HTTP date; UTC if it has no zone."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return None
