"""How much an endpoint says it will still take, read out of the headers of its replies."""

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
_PIECES = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d))+")
_PIECE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_COUNT = re.compile(r"[0-9]{1,18}")
_LONGEST = 60
"""Characters; what is longer is no time."""


class RemainingQuota:
    """What an endpoint said is left of a limit, and what has gone since.

    It counts what was under way when the reply came as not yet counted by the endpoint, so it errs on the careful side.
    """

    def __init__(self, names: tuple[tuple[str, str], ...], longest: float) -> None:
        self._names, self._longest = names, longest
        self._left: float | None = None
        self._said = ("", "", 0.0)
        """When the limit is there again, in the endpoint's words; its date; and when it said so."""

    @classmethod
    def of_requests(cls, longest: float) -> "RemainingQuota":
        """What is left of the requests; a pause of more than `longest` seconds is left to the endpoint to ask for."""
        return cls(_REQUESTS, longest)

    @classmethod
    def of_tokens(cls, longest: float) -> "RemainingQuota":
        """What is left of the tokens."""
        return cls(_TOKENS, longest)

    def hear(self, headers: Mapping[str, str], under_way: float, now: float) -> None:
        """Take in what a reply says; headers that say nothing change nothing."""
        for remaining, reset in self._names:
            if (left := headers.get(remaining)) and _COUNT.fullmatch(left):
                self._left = int(left) - under_way
                self._said = (headers.get(reset, ""), headers.get("date", ""), now)
                return

    def wait(self, amount: float, now: float) -> float:
        """Seconds until so much may go; 0: now."""
        if self._left is None or amount <= self._left:
            return 0.0
        reset, date, then = self._said
        seconds = seconds_until_reset(reset, date)
        if seconds is None or seconds > self._longest or now >= then + seconds:
            self._left = None
            return 0.0
        return then + seconds - now

    def take(self, amount: float) -> None:
        """Let so much go."""
        if self._left is not None:
            self._left -= amount


def seconds_until_reset(text: str, date: str) -> float | None:
    """Seconds until a limit is there again; None where the header does not say, or says a moment without a `date`.

    >>> seconds_until_reset("1m30s", ""), seconds_until_reset("12", ""), seconds_until_reset("soon", "")
    (90.0, 12.0, None)
    >>> seconds_until_reset("2026-01-01T00:00:05Z", "Thu, 01 Jan 2026 00:00:00 GMT")
    5.0
    """
    if not text or len(text) > _LONGEST:
        return None
    if _PIECES.fullmatch(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PIECE.findall(text))
    if _NUMBER.fullmatch(text):
        return float(text)
    now, then = _moment(date), None if text.isdigit() else _moment(text)
    return None if now is None or then is None else max(0.0, (then - now).total_seconds())


def _moment(text: str) -> datetime | None:
    """An ISO 8601 time or an HTTP date; one without a zone is in UTC."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return None
