"""The models of one command, and the gateway through which a run calls them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import environ as own_environ
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import CallLog, ChatModel, Embedder
from evalmark.core.settings import Replay, Settings
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.spending import Spending
from evalmark.models.middleware.meter import Budget, Meter
from evalmark.models.middleware.prices import Prices, read_prices
from evalmark.models.middleware.rate_limits import RateLimits, RetryPolicy
from evalmark.models.middleware.token_estimate import ASSUMED_OUTPUT

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors
    from evalmark.models.middleware import call_config, retry
    from evalmark.models.middleware import throttle as throttles
    from evalmark.models.middleware.throttle import Throttle
    from evalmark.models.providers import chat_models, embeddings
    from evalmark.models.providers import endpoint as endpoints
    from evalmark.models.providers import http as http_client
    from evalmark.models.providers import http_service as http_services
    from evalmark.models.providers.endpoint import Endpoint
    from evalmark.models.providers.http import HttpClient
else:
    call_config = LazyModule("evalmark.models.middleware.call_config")
    chat_models = LazyModule("evalmark.models.providers.chat_models")
    embeddings = LazyModule("evalmark.models.providers.embeddings")
    endpoints = LazyModule("evalmark.models.providers.endpoint")
    http_client = LazyModule("evalmark.models.providers.http")
    http_services = LazyModule("evalmark.models.providers.http_service")
    retry = LazyModule("evalmark.models.middleware.retry")
    throttles = LazyModule("evalmark.models.middleware.throttle")


DEFAULTS = Settings()


@dataclass(frozen=True, kw_only=True)
class ConfiguredModel:
    """A model with default settings, which each request may override."""

    model: ChatModel
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The identity of the model; settings are part of each request."""
        return self.model.identity

    @property
    def fingerprint(self) -> str:
        """A hash of the model and the settings."""
        return fingerprint(self.identity, self.settings)

    async def __call__(self, request: Request) -> Reply:
        """Return the model's reply to the request with the default settings added. Raises what the model raises."""
        return await self.model(replace(request, settings={**self.settings, **request.settings}))


@dataclass(frozen=True, kw_only=True)
class ModelFactory:
    """Opens models by name over one pool of connections; nothing is sent before a run."""

    settings: Settings = DEFAULTS
    environ: Mapping[str, str] = field(default_factory=lambda: own_environ, repr=False)

    @cached_property
    def http(self) -> "HttpClient":
        """All connections; the HTTP library is loaded with the first model."""
        return http_client.HttpClient(self.environ, self.settings.http_library)

    async def close(self) -> None:
        """Close all connections."""
        if "http" in self.__dict__:
            await self.http.close()

    def chat(self, name: str) -> ChatModel:
        """Return the chat model of a name.

        Raises:
            ConfigError: the name is not that of a model.
        """
        within = self.settings.call_timeout
        return chat_models.open_chat(
            name, environ=self.environ, table=self.settings.models, http=self.http, within=within
        )

    def embedder(self, name: str) -> Embedder | None:
        """Return the remote embedding model of a name; None if it is not the name of one.

        Raises:
            ConfigError: there is no such embedding model.
        """
        if not is_remote(name, self.settings.models):
            return None
        throttle = self.throttle()
        return embeddings.open_embedder(
            name,
            environ=self.environ,
            table=self.settings.models,
            http=self.http,
            within=self.settings.call_timeout,
            around=lambda send: _send_with_retry(send, throttle, self.retry_policy),
        )

    def http_service(self, name: str, url: str, headers: Mapping[str, str], queries: Mapping[str, str]) -> ChatModel:
        """Return an HTTP service under test, which is called like a model."""
        return http_services.HttpService(
            name=name,
            url=url,
            http=self.http,
            queries=queries,
            headers=headers,
            environ=self.environ,
            within=self.settings.call_timeout,
        )

    def endpoint(self, model: ChatModel) -> "Endpoint | None":
        """Return the endpoint of a model that was opened by name; None for an object of the user's."""
        try:
            found = endpoints.find_endpoint(model.name, self.environ, self.settings.models)
        except ConfigError:
            return None
        return found if found.identity == model.identity else None

    def throttle(self) -> "Throttle":
        """Return a new rate limiter for one endpoint, with the limits of the settings."""
        most = self.settings.connections or self.settings.jobs
        pace = RateLimits(start=most, most=most, rpm=_whole(self.settings.rpm), tpm=_whole(self.settings.tpm))
        return throttles.Throttle(pace, self.retry_policy)

    @property
    def retry_policy(self) -> "RetryPolicy":
        """The retry policy of model calls, with the retries of the settings."""
        return RetryPolicy(retries=self.settings.retries)

    @property
    def budget(self) -> "Budget":
        """The limits of a run on cost, calls and tokens."""
        limits = self.settings
        return Budget(max_cost=limits.max_cost, max_calls=limits.max_calls, max_tokens=limits.max_tokens)


def _whole(limit: float | None) -> int | None:
    return None if limit is None else max(1, round(limit))


def is_remote(name: str, table: Mapping[str, Any]) -> bool:
    """Return whether a name denotes an embedding model on a server, and not one on this machine.

    >>> is_remote("openai/text-embedding-3-small", {}), is_remote("all-MiniLM-L6-v2", {})
    (True, False)
    """
    provider = name.partition("/")[0]
    return name in table or name.startswith("openai_compatible:") or provider in REMOTE


REMOTE = ("azure", "gemini", "google", "mistral", "ollama", "openai", "openrouter")
"""Providers of embedding models: the part of a name before the slash."""


class ModelGateway:
    """Wraps the models of a run in its middleware: call log, cache, limits and budget."""

    def __init__(
        self, models: ModelFactory, call_log: CallLog | None, earlier: Sequence[Spending] = (), lost: int = 0
    ) -> None:
        self._models, self._call_log = models, call_log
        self._prices = Prices(read_prices(models.settings.models))
        self.meter = Meter(models.budget, earlier, self._prices, lost)
        self._throttles: dict[str, Throttle] = {}
        self._made: dict[tuple[str, str, str], ChatModel] = {}

    def __call__(self, model: ChatModel) -> ChatModel:
        """Return the model with the middleware of a run; the same object for the same model."""
        if isinstance(model, ConfiguredModel):
            return replace(model, model=self(model.model))
        # The table may have one endpoint under two names, with two prices; a service may be read in two ways.
        key = (model.identity, model.name, str(getattr(model, "variant", "")))
        if key not in self._made:
            self._made[key] = self.wrap(model)
        return self._made[key]

    def chat(self, name: str) -> ChatModel:
        """Return the chat model of a name without middleware. Raises ConfigError: the name is not that of a model."""
        return self._models.chat(name)

    def wrap(self, model: ChatModel) -> ChatModel:
        """Wrap this object in the run's middleware, even if another model with its name is already wrapped."""
        config = call_config.CallConfig(
            meter=self.meter,
            throttle=self._throttle(model),
            prices=self._prices,
            call_log=self._call_log,
            replay=replay_mode(model, self._models.settings),
            retry_policy=self._models.retry_policy,
        )
        return call_config.wrap_model(model, config)

    def _throttle(self, model: ChatModel) -> "Throttle":
        endpoint = self._models.endpoint(model)
        # pydantic-ai does not expose the endpoints of its models, so each model has its own throttle.
        where = endpoint.host if endpoint is not None and endpoint.base_url else model.identity
        if where not in self._throttles:
            self._throttles[where] = self._models.throttle()
        return self._throttles[where]

    async def close(self) -> None:
        """Close all connections."""
        await self._models.close()

    def faults(self, models: Iterable[ChatModel]) -> list[str]:
        """Return why models cannot be called with these settings: a missing key, an unknown price; nothing is sent."""
        if self._models.settings.replay == "strict":  # nothing will be sent, so no key and no price is needed
            return []
        inner = [model.model if isinstance(model, ConfiguredModel) else model for model in models]
        endpoints = [endpoint for model in inner if (endpoint := self._models.endpoint(model)) is not None]
        found = [*map(self.meter.refuse_unknown, inner), *map(_without_key, endpoints)]
        found += [getattr(model, "fault", None) for model in inner]  # of an HTTP service
        return list(dict.fromkeys(fault for fault in found if fault))


def _without_key(endpoint: "Endpoint") -> str | None:
    fault = endpoints.missing_key(endpoint)
    return fault and f"{fault} Recorded replies can be used without one: --replay strict."


def replay_mode(model: ChatModel, settings: Settings) -> Replay:
    """Return how cached replies of a model are used; a command has none unless the suite asks for it."""
    return settings.replay if getattr(model, "is_cached", True) else "off"


async def _send_with_retry(
    send: Callable[[], Awaitable["Vectors"]], throttle: "Throttle", retry_policy: "RetryPolicy"
) -> "Vectors":
    """Return the vectors of one request, sent with the same throttle and retries as a chat call."""
    limited = partial(throttles.send_limited, throttle, ASSUMED_OUTPUT, send)
    vectors, _ = await retry.send_with_retries(limited, retry_policy)
    return vectors
