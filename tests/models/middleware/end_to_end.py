"""A model over HTTP behind all wrappers, against a server that misbehaves on script."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalmark.core.values.call import Reply, Request
from evalmark.errors import EvalmarkError
from evalmark.models.middleware.call_config import CallConfig, wrap_model
from evalmark.models.middleware.meter import Budget, Meter
from evalmark.models.middleware.prices import Prices, TokenPrices
from evalmark.models.middleware.rate_limits import RateLimits, RetryPolicy
from evalmark.models.middleware.throttle import Throttle
from evalmark.models.providers.chat_models import open_chat
from evalmark.models.providers.http import HttpClient
from evalmark.testing.memory import MemoryCallLog
from evalmark.testing.scripted import ScriptedResponse, ScriptedServer

from .asking import ask

KEY = "sk-a-key-that-must-never-be-seen"
QUICK = RetryPolicy(first_wait=0.01, most_wait=0.02)
"""As patient as usual in the number of attempts, and quick about it."""
MODELS = {
    "openai": ("openai/some-model", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "azure": ("azure/some-model", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"),
    "anthropic": ("anthropic/some-model", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "gemini": ("gemini/some-model", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
}


@dataclass(kw_only=True)
class World:
    """One server, one model on it, and what is around the model."""

    server: ScriptedServer
    provider: str = "openai"
    within: float = 5.0
    patience: RetryPolicy = QUICK
    pace: RateLimits = field(default_factory=lambda: RateLimits(start=50, most=50))
    budget: Budget = field(default_factory=Budget)
    rates: TokenPrices | None = None
    call_log: MemoryCallLog = field(default_factory=MemoryCallLog)
    replay: Any = "auto"

    def __post_init__(self) -> None:
        self.name, self.address, self.key = MODELS[self.provider]
        self.prices = Prices({} if self.rates is None else {self.name: self.rates})
        self.meter = Meter(self.budget, (), self.prices)

    def ask(self, *requests: Request | str, workers: int = 50) -> list[Reply | EvalmarkError]:
        """What all requests come to, so many at a time."""
        return asyncio.run(self._ask([ask(each) if isinstance(each, str) else each for each in requests], workers))

    async def _ask(self, requests: Sequence[Request], workers: int) -> list[Reply | EvalmarkError]:
        path = "/v1" if self.provider == "openai" else ""
        http = HttpClient()
        environ = {self.address: f"{self.server.url}{path}", self.key: KEY, "ANTHROPIC_MAX_TOKENS": ""}
        model = open_chat(self.name, environ=environ, table={}, http=http, within=self.within)
        self.throttle = Throttle(self.pace, self.patience, random.Random(7))  # noqa: S311
        asked = wrap_model(
            model,
            CallConfig(
                meter=self.meter,
                throttle=self.throttle,
                prices=self.prices,
                call_log=self.call_log,
                replay=self.replay,
                retry_policy=self.patience,
                random=random.Random(7),  # noqa: S311
            ),
        )
        found: list[Any] = [None] * len(requests)
        left = iter(enumerate(requests))

        async def work() -> None:
            for number, request in left:
                try:
                    found[number] = await asked(request)
                except EvalmarkError as error:
                    found[number] = error

        try:
            await asyncio.gather(*(work() for _ in range(min(workers, len(requests)))))
        finally:
            await http.close()
        return found

    def with_answer(self, answer: Any) -> "World":
        """The same world with another answer, and the same journal."""
        self.server.answer = answer
        return replace(self, server=self.server)


def timed(answers: Sequence[ScriptedResponse]) -> tuple[Callable[[Any], ScriptedResponse], list[float]]:
    """A script, and when each request of it came."""
    script, times = iter(answers), []

    def answer(said: Any) -> ScriptedResponse:
        times.append(time.monotonic())
        return next(script, None)

    return answer, times
