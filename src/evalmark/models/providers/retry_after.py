"""The wait that a server asks for in the headers of a response."""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evalmark.core.lazy import LazyModule

if TYPE_CHECKING:
    import email.utils as email_utils
else:
    email_utils = LazyModule("email.utils")

_NUMBER = re.compile(r"\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h|d)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 100
"""Characters; a longer value is ignored."""
_EPOCH = 1e8
"""A larger number (three years) is a Unix time; a thousand times as large, one in milliseconds."""


def retry_after(headers: Mapping[str, str], *, limited: bool = True) -> float | None:
    """Return the seconds to wait before the next request, at least 0; None if the headers do not state a wait.

    `retry-after-ms` and `retry-after` have precedence. Without them, if a rate limit rejected the request (`limited`), the
    largest of the `x-ratelimit-reset-*` and `anthropic-ratelimit-*-reset` headers is used. Dates are compared with the
    `date` header of the response, not with the clock of this machine; without that header they are ignored.

    >>> retry_after({"retry-after": "1.5"}), retry_after({"x-ratelimit-reset-tokens": "1m30s"}), retry_after({})
    (1.5, 90.0, None)
    """
    low = {name.lower(): value.strip() for name, value in headers.items() if len(value) <= _LONGEST}
    now = _moment(low.get("date", ""))
    stated = [_milliseconds(low.get("retry-after-ms", "")), _wait(low.get("retry-after", ""), now)]
    waits = [wait for wait in stated if wait is not None] or list(_resets(low, now) if limited else ())
    return max(waits, default=None)


def _resets(headers: Mapping[str, str], now: datetime | None) -> Iterator[float]:
    for name, value in headers.items():
        if "ratelimit" in name and "reset" in name and (wait := _wait(value, now)) is not None:
            if wait < _EPOCH or not _NUMBER.fullmatch(value):
                yield wait
            elif now is not None:
                moment = wait / 1000 if wait >= 1000 * _EPOCH else wait
                yield max(0.0, moment - now.timestamp())


def _wait(text: str, now: datetime | None) -> float | None:
    """Parse a number of seconds, a duration such as `1m30s`, or a time; None for anything else."""
    if (number := _number(text)) is not None:
        return number
    if text and not _DURATION_PART.sub("", text):
        wait = sum(float(count) * _SECONDS[unit] for count, unit in _DURATION_PART.findall(text))
        return wait if math.isfinite(wait) else None
    then = _moment(text)
    return None if then is None or now is None else max(0.0, (then - now).total_seconds())


def _milliseconds(text: str) -> float | None:
    number = _number(text)
    return None if number is None else number / 1000


def _number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _moment(text: str) -> datetime | None:
    """Parse an HTTP date or an ISO 8601 time; UTC if it has no zone."""
    if not text:
        return None
    for read in (datetime.fromisoformat, lambda date: email_utils.parsedate_to_datetime(date)):
        try:
            found = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return None
