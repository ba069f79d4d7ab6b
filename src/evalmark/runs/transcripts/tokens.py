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


def token_usage(told: Any) -> Usage | None:
    """Read token counts, or return None without any.

    >>> token_usage({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}})
    Usage(input_tokens=9, output_tokens=2, cached_tokens=4, cache_write_tokens=None, reasoning_tokens=None)
    """
    into, out = first_field(told, *_INTO), first_field(told, *_OUT)
    found = Usage(
        input_tokens=_count(told, "input_tokens", "prompt_tokens"),
        output_tokens=_count(told, "output_tokens", "completion_tokens"),
        cached_tokens=_either(_count(into, "cached_tokens", "cache_read"), _count(told, "cache_read_tokens")),
        cache_write_tokens=_either(
            _count(into, "cache_write_tokens", "cache_creation"), _count(told, "cache_write_tokens")
        ),
        reasoning_tokens=_either(_count(out, "reasoning_tokens", "reasoning"), _count(told, "output_reasoning_tokens")),
    )
    return None if found == Usage() else found


def nonzero_usage(told: Any) -> Usage | None:
    """Read token counts of a framework that writes 0 for unknown counts; a 0 becomes None.

    >>> nonzero_usage({"input_tokens": 3, "output_tokens": 1, "cache_read_tokens": 0}).cached_tokens is None
    True
    """
    found = token_usage(told)
    if found is None or not (found.input_tokens or found.output_tokens):
        return None
    return Usage(
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
        cached_tokens=found.cached_tokens or None,
        cache_write_tokens=found.cache_write_tokens or None,
        reasoning_tokens=found.reasoning_tokens or None,
    )


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Add up known counts, or return None without any."""
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    sums: dict[str, int | None] = {}
    for field in fields(Usage):
        counts = [count for usage in known if (count := getattr(usage, field.name)) is not None]
        sums[field.name] = sum(counts) if counts else None
    return Usage(**sums)


def _count(told: Any, *names: str) -> int | None:
    found = (get_field(told, name) for name in names)
    return next((n for n in found if type(n) is int and 0 <= n <= MAX_TOKENS), None)


def _either(one: int | None, other: int | None) -> int | None:
    return other if one is None else one
