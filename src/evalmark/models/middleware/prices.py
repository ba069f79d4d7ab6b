"""Prices of model calls: the published ones of providers, and those in the settings."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Protocol

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Usage

MILLION = 1_000_000
_AGE = 60.0
"""Seconds for which a published price is cached; some prices change with the time of day."""
_MOVED = {"https://api.together.ai": "https://api.together.xyz"}
"""Addresses that the price list knows by another name."""
_TABLE = "pyproject.toml: [tool.evalmark.models]"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrices:
    """The prices of a model, in US dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Price of input tokens read from the cache of the provider; None: the same as `input`."""
    cache_write: float | None = None
    reasoning: float | None = None
    """Price of reasoning tokens; None: the same as `output`."""
    call: float = 0.0
    """US dollars for each call."""

    def cost(self, usage: Usage) -> float | None:
        """Return US dollars; None if the provider did not report the tokens.

        >>> TokenPrices(input=1.0, output=4.0, cached=0.1).cost(Usage(input_tokens=1000, output_tokens=500, cached_tokens=500))
        0.00255
        """
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        total = usage.input_tokens * self.input + usage.output_tokens * self.output
        for tokens, rate, within in (
            (usage.cached_tokens, self.cached, self.input),
            (usage.cache_write_tokens, self.cache_write, self.input),
            (usage.reasoning_tokens, self.reasoning, self.output),
        ):
            if tokens and rate is not None:
                total += tokens * (rate - within)
        return self.call + total / MILLION


class _Price(Protocol):
    def cost(self, usage: Usage) -> float | None: ...


class Prices:
    """Computes the cost of model calls.

    Prices in the settings have precedence. Other models are looked up in the published prices by the address of their
    endpoint, so a server that is only compatible with OpenAI has no price. Nothing is downloaded: the published prices are
    those of the installed package `genai-prices`.
    """

    def __init__(
        self, own: Mapping[str, TokenPrices] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._own, self._clock = dict(own or {}), clock
        self._known: dict[tuple[str, str], tuple[float, _Price | None]] = {}

    def cost(self, model: ChatModel, usage: Usage, replied_by: str = "") -> float | None:
        """Return the US dollars of one call; None if the price or the usage is unknown.

        `replied_by` is the model that the provider reports; its price has precedence over that of the requested model.
        """
        found = self._of(model, replied_by)
        return None if found is None else found.cost(usage)

    def estimate(self, model: ChatModel, input_tokens: int, output_tokens: int) -> float | None:
        """Return the US dollars of a call with so many tokens; None if the price is unknown."""
        return self.cost(model, Usage(input_tokens=input_tokens, output_tokens=output_tokens))

    def are_known(self, model: ChatModel) -> bool:
        """Whether the price of a model is known."""
        return self._of(model, "") is not None

    def _of(self, model: ChatModel, replied_by: str) -> _Price | None:
        if (own := self._own.get(model.name)) is not None:
            return own
        key = (model.identity, replied_by)
        now = self._clock()
        found = self._known.get(key)
        if found is None or now - found[0] > _AGE:
            found = self._known[key] = (now, _published_price(model.identity, replied_by))
        return found[1]


def _published_price(identity: str, replied_by: str) -> _Price | None:
    """Look up the published price of the model of an identity: `provider/model@address`."""
    named, _, address = identity.rpartition("@")
    provider, _, model = named.partition("/")
    where: dict[str, Any]
    if address.startswith("https://"):
        host = "/".join(address.split("/", 3)[:3])
        where = {"provider_api_url": _MOVED.get(host, address)}
    elif provider == "pydantic-ai" and ":" in model:
        company, _, model = model.partition(":")
        where = {"provider_id": company}
    else:
        return None
    return next((found for name in (replied_by, model) if name and (found := _lookup(name, where)) is not None), None)


def _lookup(model: str, where: Mapping[str, Any]) -> _Price | None:
    """Compute the price of a million tokens of each kind once, since each look-up takes long."""
    published = _PublishedPrice(model, where)
    try:
        call = published.dollars(input_tokens=0, output_tokens=0)
        if published.has_steps():
            return published
        return TokenPrices(
            input=published.dollars(input_tokens=MILLION, output_tokens=0) - call,
            output=published.dollars(input_tokens=0, output_tokens=MILLION) - call,
            cached=published.dollars(input_tokens=MILLION, output_tokens=0, cache_read_tokens=MILLION) - call,
            cache_write=published.dollars(input_tokens=MILLION, output_tokens=0, cache_write_tokens=MILLION) - call,
            reasoning=published.dollars(input_tokens=0, output_tokens=MILLION, output_reasoning_tokens=MILLION) - call,
            call=call,
        )
    except (LookupError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class _PublishedPrice:
    """A published price with steps, computed for each call: it is higher above a number of tokens."""

    model: str
    where: Mapping[str, Any]

    def dollars(self, **tokens: int) -> float:
        prices = need("genai_prices")
        found = prices.calc_price(prices.Usage(**tokens), self.model, **self.where)
        return float(found.total_price)

    def has_steps(self) -> bool:
        """Whether the price of a token depends on the number of tokens."""
        prices = need("genai_prices")
        found = prices.calc_price(prices.Usage(input_tokens=0, output_tokens=0), self.model, **self.where)
        return any(isinstance(price, prices.types.TieredPrices) for price in vars(found.model_price).values())

    def cost(self, usage: Usage) -> float | None:
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        given = {
            "cache_read_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "output_reasoning_tokens": usage.reasoning_tokens,
        }
        known = {name: tokens for name, tokens in given.items() if tokens}
        try:
            return self.dollars(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, **known)
        except ValueError:
            return None


def read_prices(table: Mapping[str, Any]) -> dict[str, TokenPrices]:
    """Read the prices in the models table: `NAME = {…, input = 0.1, output = 0.4}`, in dollars for a million tokens.

    `cached` is the price of input tokens from the cache of the provider. Rows without prices are left out.

    Raises:
        ConfigError: A price is not a number from 0, or `input` or `output` is missing.
    """
    faults: list[str] = []
    found = {
        name: rates
        for name, row in table.items()
        if isinstance(row, Mapping) and (rates := _token_prices(f"{_TABLE} {name}", row, faults)) is not None
    }
    if faults:
        raise ConfigError.of(faults)
    return found


PRICE_FIELDS = ("input", "output", "cached")


def _token_prices(location: str, row: Mapping[str, Any], faults: list[str]) -> TokenPrices | None:
    given = {name: row[name] for name in PRICE_FIELDS if name in row}
    if not given:
        return None
    wrong = [name for name, value in given.items() if not _is_price(value)]
    faults += [
        f"{location}.{name} is {given[name]!r}; write a number of dollars for a million tokens, 0 or more."
        for name in wrong
    ]
    missing = [name for name in ("input", "output") if name not in given]
    faults += [f"{location}.{name} is missing: a price has both input and output." for name in missing]
    return None if wrong or missing else TokenPrices(**{name: float(value) for name, value in given.items()})


def _is_price(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


MOST_TOKENS = 20_000_000
"""More tokens than any model processes in one call; a larger count is an error of the provider."""


class PricedModel:
    """A model whose replies have their cost in US dollars; None if it is unknown."""

    def __init__(self, model: ChatModel, prices: Prices) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._prices = model, prices

    async def __call__(self, request: Request) -> Reply:
        """Call the model and add the cost, unless the reply has one. Raises what the model raises."""
        reply = await self._model(request)
        usage = valid_usage(reply.usage)
        cost = reply.cost if _is_valid_cost(reply.cost) else self._prices.cost(self, usage, reply.model)
        return reply if usage is reply.usage and cost is reply.cost else replace(reply, usage=usage, cost=cost)


def valid_usage(usage: Usage) -> Usage:
    """Return the usage without impossible counts (negative or absurd ones, parts larger than the whole), or itself.

    >>> valid_usage(Usage(input_tokens=-3, output_tokens=10**12)) == Usage()
    True
    """
    read, written = _valid_count(usage.input_tokens), _valid_count(usage.output_tokens)
    cached, cache_write = _valid_count(usage.cached_tokens), _valid_count(usage.cache_write_tokens)
    reasoning = _valid_count(usage.reasoning_tokens)
    if usage.input_tokens is not None and (cached or 0) + (cache_write or 0) > (read or 0):
        cached = cache_write = None
    if usage.output_tokens is not None and (reasoning or 0) > (written or 0):
        reasoning = None
    counts = (read, written, cached, cache_write, reasoning)
    return usage if counts == _counts(usage) else Usage(**dict(zip(_COUNTS, counts, strict=True)))


_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
_counts = attrgetter(*_COUNTS)


def _valid_count(tokens: int | None) -> int | None:
    return tokens if type(tokens) is int and 0 <= tokens <= MOST_TOKENS else None


def _is_valid_cost(cost: float | None) -> bool:
    return isinstance(cost, (int, float)) and 0.0 <= cost < math.inf
