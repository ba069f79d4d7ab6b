"""Validate the parts of replies: token counts, numbers, headers, JSON objects, tool calls."""

import json
import math
from collections.abc import Mapping
from typing import Any

from evalmark.core.values.case import ToolCall
from evalmark.inputs.documents.strict_json import RefusedJsonError, decode_at

MOST_TOKENS = 10**9
"""A larger count is an error of the server."""
_KEPT_HEADERS = frozenset(
    (
        "x-request-id",
        "request-id",
        "apim-request-id",
        "x-ms-request-id",
        "cf-ray",
        "retry-after",
        "retry-after-ms",
        "date",
    )
)
_KEPT_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-")


def token_count(value: Any) -> int | None:
    """Return a number of tokens; None if it is missing or impossible.

    >>> token_count(12), token_count(-1), token_count(True), token_count(10**12), token_count("7")
    (12, None, None, None, None)
    """
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def finite_float(value: Any) -> float | None:
    """Return a number as a float; None for anything else, NaN, infinities and integers that are too large.

    >>> finite_float(1), finite_float(True), finite_float("1"), finite_float(float("nan")), finite_float(10**400)
    (1.0, None, None, None, None)
    """
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers stored with a reply: request ids, limits, dates."""
    return {
        low: value
        for name, value in headers.items()
        if (low := name.lower()) in _KEPT_HEADERS or low.startswith(_KEPT_PREFIXES)
    }


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the object if the text is exactly one strict JSON object; otherwise None.

    >>> parse_object(' {"a": 1} '), parse_object('Sure: {"a": 1}')
    ({'a': 1}, None)
    """
    text = text.strip(" \t\r\n")
    if not text.startswith("{"):
        return None
    try:
        value, end = decode_at(text, 0)
    except (json.JSONDecodeError, RefusedJsonError):
        return None
    return value if end == len(text) else None


def tool_call(name: Any, arguments: Any) -> ToolCall:
    """Build a tool call of a reply; `arguments` is JSON text or the object itself.

    If the arguments are not an object, the call has an `error` that shows them.
    """
    found = parse_object(arguments) if isinstance(arguments, str) and arguments.strip() else arguments or {}
    if isinstance(found, dict):
        return ToolCall(name=str(name), arguments=found)
    return ToolCall(name=str(name), error=f"its arguments are not a JSON object: {arguments!r:.200}")
