"""Chat models for code under test: within a trial they are called through the gateway of the run."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import Any, TypeVar

from evalmark.core.context.trial_context import current_tools, current_trial_context
from evalmark.core.errors import ConfigError, NotRecordedError, RunStoppedError
from evalmark.core.protocols import ChatModel
from evalmark.core.settings import Settings, load_settings
from evalmark.core.values.call import Reply, Request

from .models import ModelFactory, ModelGateway

T = TypeVar("T")


@asynccontextmanager
async def chat_model(name: str, settings: Settings | None = None) -> AsyncIterator[ChatModel]:
    """Open a chat model by its name, for code that calls one, such as an agent.

    While evalmark runs a case, its calls are handled like those of judges: they are logged, replayed, limited and counted
    with the run. Elsewhere, and with `settings`, the model has retries, limits and budgets, and no call log.

    Args:
        name: `provider/model`, or a name in `[tool.evalmark.models]`.
        settings: The settings of the model; None: those of the run, or outside of runs those of the environment and the project.

    Returns:
        An async context manager with the model, a coroutine from a request to a reply.

    Raises:
        ConfigError: the name is not that of a model, or its key is missing.

    Example:
        The target of a run that calls a model::

            async def answer(question):
                async with chat_model("openai/any-model") as model:
                    reply = await model(Request(messages=(Turn(role="user", content=question),)))
                return reply.text
    """
    get_model = None if settings is not None else current_trial_context().get_model
    if get_model is not None:
        yield await get_model(name)
        return
    models = ModelFactory(settings=settings or load_settings(environ, Path.cwd()))
    gateway = ModelGateway(models, None)
    try:
        yield gateway(models.chat(name))
    finally:
        await gateway.close()


class TargetModels:
    """Gives targets the models of a run; targets may call them from threads and event loops of their own."""

    def __init__(
        self, models: ModelFactory, gateway: Callable[[], ModelGateway], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._models, self._gateway, self._loop = models, gateway, loop

    async def __call__(self, name: str) -> ChatModel:
        """Return the model of a name with the middleware of the run.

        Raises:
            ConfigError: the name is not that of a model, its key is missing, or its price is not known and a budget is set.
        """
        return _BoundModel(model=await self.run_on_model_loop(self._opened(name)), provider=self)

    async def _opened(self, name: str) -> ChatModel:
        model, gateway = self._models.chat(name), self._gateway()
        if faults := gateway.faults([model]):
            raise ConfigError.of(faults)
        return gateway(model)

    async def run_on_model_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work on the loop on which the run calls its models, which has its rate limits and budgets.

        Raises:
            RunStoppedError: the run is over.
        """
        if asyncio.get_running_loop() is self._loop:
            return await work
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop is closed
            work.close()
            raise RunStoppedError("No model can be called any more, since the run is over.") from None
        return await asyncio.wrap_future(future)


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoundModel:
    """A model of the run as a target gets it."""

    model: ChatModel
    provider: TargetModels

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The identity of the model."""
        return self.model.identity

    async def __call__(self, request: Request) -> Reply:
        """Return the model's reply. What the run refuses is noted too, since agents may catch the error."""
        tools = current_tools()
        try:
            reply = await self.provider.run_on_model_loop(_call(self.model, request))
        except (NotRecordedError, RunStoppedError) as fault:
            if tools is not None:
                tools.note(fault)
            raise
        if tools is not None and reply.key:
            tools.used.append(reply.key)
        return reply


async def _call(model: ChatModel, request: Request) -> Reply:
    return await model(request)
