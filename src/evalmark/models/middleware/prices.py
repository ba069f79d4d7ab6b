"""What calls cost: the published prices of providers, and those that the user gives."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need
from evalmark.core.protocols import ChatModel
from evalmark.core.values.usage import Usage

MILLION = 1_000_000
_AGE = 60.0
"""Seconds for which a published price is taken as it is; some change with the time of day."""
_MOVED = {"https://api.together.ai": "https://api.together.xyz"}
"""Addresses that the price list has under another name."""
_PLACE = "pyproject.toml: [tool.evalmark.models]"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrices:
    """What a model costs, in US dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Input tokens read from the provider's cache; None: as all others."""
    cache_write: float | None = None
    reasoning: float | None = None
    """Output tokens of reasoning; None: as all others."""
    call: float = 0.0
    """Dollars for the call itself."""

    def cost(self, usage: Usage) -> float | None:
        """Dollars; None where the provider did not say how many tokens it took.

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
    """What the calls of models cost, as far as that is known.

    A model of the user's table costs what the table says. Every other one is looked up in the published prices by the
    address of its endpoint: a server that only speaks as OpenAI does has no price, whatever its models are named.
    Nothing is fetched: the published prices are those of the installed package `genai-prices`.
    """

    def __init__(
        self, own: Mapping[str, TokenPrices] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._own, self._clock = dict(own or {}), clock
        self._known: dict[tuple[str, str], tuple[float, _Price | None]] = {}

    def cost(self, model: ChatModel, usage: Usage, answered: str = "") -> float | None:
        """US dollars of one call; None when price or usage is not known.

        `answered` is the model that the provider says has answered; its price goes before that of the one asked for.
        """
        found = self._of(model, answered)
        return None if found is None else found.cost(usage)

    def estimate(self, model: ChatModel, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars of a call with so many tokens; None when the price is not known."""
        return self.cost(model, Usage(input_tokens=input_tokens, output_tokens=output_tokens))

    def are_known(self, model: ChatModel) -> bool:
        """Whether the price of a model is known."""
        return self._of(model, "") is not None

    def _of(self, model: ChatModel, answered: str) -> _Price | None:
        if (own := self._own.get(model.name)) is not None:
            return own
        key = (model.identity, answered)
        now = self._clock()
        found = self._known.get(key)
        if found is None or now - found[0] > _AGE:
            found = self._known[key] = (now, _published_price(model.identity, answered))
        return found[1]


def _published_price(identity: str, answered: str) -> _Price | None:
    """The published price of the model that an identity names: `provider/model@address`."""
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
    return next((found for name in (answered, model) if name and (found := _lookup(name, where)) is not None), None)


def _lookup(model: str, where: Mapping[str, Any]) -> _Price | None:
    """The price of a model; asked for once for a million tokens of each kind, since each look takes long."""
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
    """A published price, worked out anew for each call: some are higher above so many tokens."""

    model: str
    where: Mapping[str, Any]

    def dollars(self, **tokens: int) -> float:
        prices = need("genai_prices")
        found = prices.calc_price(prices.Usage(**tokens), self.model, **self.where)
        return float(found.total_price)

    def has_steps(self) -> bool:
        """Whether the price of a token depends on how many there are."""
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
    """The prices in the models table: `NAME = {…, input = 0.1, output = 0.4}`, in dollars for a million tokens.

    `cached` may say what input tokens from the provider's cache cost. Rows without prices have none.

    Raises:
        ConfigError: a price is no number from 0, or one of `input` and `output` is missing.
    """
    faults: list[str] = []
    found = {
        name: rates
        for name, row in table.items()
        if isinstance(row, Mapping) and (rates := _token_prices(f"{_PLACE} {name}", row, faults)) is not None
    }
    if faults:
        raise ConfigError.of(faults)
    return found


PRICE_FIELDS = ("input", "output", "cached")


def _token_prices(place: str, row: Mapping[str, Any], faults: list[str]) -> TokenPrices | None:
    given = {name: row[name] for name in PRICE_FIELDS if name in row}
    if not given:
        return None
    wrong = [name for name, value in given.items() if not _is_price(value)]
    faults += [f"{place}.{name} is {given[name]!r}, not dollars for a million tokens." for name in wrong]
    missing = [name for name in ("input", "output") if name not in given]
    faults += [f"{place}.{name} is missing: a price has both input and output." for name in missing]
    return None if wrong or missing else TokenPrices(**{name: float(value) for name, value in given.items()})


def _is_price(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf
