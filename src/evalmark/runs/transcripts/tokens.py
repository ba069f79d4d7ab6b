"""Token counts in the formats of OpenAI, LangChain, pydantic-ai and OpenAI Agents."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from evalmark.core.values.case import Usage

from .contents import first_field, get_field

_INTO = ("input_tokens_details", "prompt_tokens_details", "input_token_details")
_OUT = ("output_tokens_details", "completion_tokens_details", "output_token_details", "details")
MAX_TOKENS = 10**12
"""Larger counts are ignored as errors."""


def token_usage(counts: Any) -> Usage | None:
    """Read token counts, or return None without any.

    >>> token_usage({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}})
    Usage(input_tokens=9, output_tokens=2, cached_tokens=4, cache_write_tokens=None, reasoning_tokens=None)
    """
    into, out = first_field(counts, *_INTO), first_field(counts, *_OUT)
    usage = Usage(
        input_tokens=_count(counts, "input_tokens", "prompt_tokens"),
        output_tokens=_count(counts, "output_tokens", "completion_tokens"),
        cached_tokens=_either(_count(into, "cached_tokens", "cache_read"), _count(counts, "cache_read_tokens")),
        cache_write_tokens=_either(
            _count(into, "cache_write_tokens", "cache_creation"), _count(counts, "cache_write_tokens")
        ),
        reasoning_tokens=_either(
            _count(out, "reasoning_tokens", "reasoning"), _count(counts, "output_reasoning_tokens")
        ),
    )
    return None if usage == Usage() else usage


def nonzero_usage(counts: Any) -> Usage | None:
    """Read token counts of a framework that writes 0 for unknown counts; a 0 becomes None.

    >>> nonzero_usage({"input_tokens": 3, "output_tokens": 1, "cache_read_tokens": 0}).cached_tokens is None
    True
    """
    usage = token_usage(counts)
    if usage is None or not (usage.input_tokens or usage.output_tokens):
        return None
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
        reasoning_tokens=usage.reasoning_tokens or None,
    )


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Add up known counts, or return None without any."""
    known_usages = [usage for usage in usages if usage is not None]
    if not known_usages:
        return None
    sums: dict[str, int | None] = {}
    for field in fields(Usage):
        counts = [count for usage in known_usages if (count := getattr(usage, field.name)) is not None]
        sums[field.name] = sum(counts) if counts else None
    return Usage(**sums)


def _count(counts: Any, *names: str) -> int | None:
    values = (get_field(counts, name) for name in names)
    return next((n for n in values if type(n) is int and 0 <= n <= MAX_TOKENS), None)


def _either(one: int | None, other: int | None) -> int | None:
    return other if one is None else one
