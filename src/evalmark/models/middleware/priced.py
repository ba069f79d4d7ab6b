"""A model whose replies say what they cost."""

import math
from dataclasses import replace

from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Usage

from .prices import Prices

MOST_TOKENS = 20_000_000
"""More tokens than any model reads or writes in one call; a larger count is a slip of the provider."""


class PricedModel:
    """A model whose replies carry their cost in US dollars, or None where it is not known."""

    def __init__(self, model: ChatModel, prices: Prices) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._prices = model, prices

    async def __call__(self, request: Request) -> Reply:
        """The model's reply; a cost that it brings along stays. Raises what the model raises."""
        reply = await self._model(request)
        usage = valid_usage(reply.usage)
        cost = reply.cost if _is_sound(reply.cost) else self._prices.cost(self, usage, reply.model)
        if cost is reply.cost and usage is reply.usage:
            return reply
        return replace(reply, usage=usage, cost=cost)


def valid_usage(usage: Usage) -> Usage:
    """The usage without counts that cannot be: negative ones, absurd ones, parts larger than the whole.

    >>> valid_usage(Usage(input_tokens=-3, output_tokens=10**12)) == Usage()
    True
    """
    parts = (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0), usage.reasoning_tokens or 0
    if (
        _is_count(usage.input_tokens)
        and _is_count(usage.output_tokens)
        and _is_count(usage.cached_tokens)
        and _is_count(usage.cache_write_tokens)
        and _is_count(usage.reasoning_tokens)
        and (usage.input_tokens is None or parts[0] <= usage.input_tokens)
        and (usage.output_tokens is None or parts[1] <= usage.output_tokens)
    ):
        return usage
    return _without_nonsense(usage)


def _without_nonsense(usage: Usage) -> Usage:
    given = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cache_write_tokens)
    read, written, cached, cache_write = (tokens if _is_count(tokens) else None for tokens in given)
    reasoning = usage.reasoning_tokens if _is_count(usage.reasoning_tokens) else None
    if (cached or 0) + (cache_write or 0) > (read or 0):
        cached = cache_write = None
    if (reasoning or 0) > (written or 0):
        reasoning = None
    return Usage(
        input_tokens=read,
        output_tokens=written,
        cached_tokens=cached,
        cache_write_tokens=cache_write,
        reasoning_tokens=reasoning,
    )


def _is_count(tokens: int | None) -> bool:
    return tokens is None or (type(tokens) is int and 0 <= tokens <= MOST_TOKENS)


def _is_sound(cost: float | None) -> bool:
    return isinstance(cost, (int, float)) and 0.0 <= cost < math.inf
