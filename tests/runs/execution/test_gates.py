"""What a run puts around its models: which of them share a gate, and what is asked of them beforehand."""

import asyncio
from dataclasses import dataclass, field

import pytest

from evalmark import Turn
from evalmark.core.settings import Settings
from evalmark.core.values.call import Request
from evalmark.errors import ModelCallError, RunStoppedError
from evalmark.models.providers.endpoint import find_endpoint
from evalmark.runs.planning.models import ModelFactory, ModelGateway
from evalmark.testing.chat import ScriptedModel

ENVIRON = {"OPENAI_API_KEY": "sk-test"}
QUESTION = Request(messages=(Turn(role="user", content="?"),))


@dataclass(frozen=True)
class Named:
    """A model under a name that leads to an endpoint; nothing is sent."""

    name: str
    says: ScriptedModel = field(default_factory=lambda: ScriptedModel(["yes"]))

    @property
    def identity(self):
        return find_endpoint(self.name, ENVIRON, {}).identity

    async def __call__(self, request):
        return await self.says(request)


@pytest.mark.parametrize(
    ("first", "second", "is_stopped"),
    [
        pytest.param("openai/one", "openai/two", True, id="two models at one address"),
        pytest.param("openai/one", "mistral/two", False, id="two addresses"),
        pytest.param("pydantic-ai/bedrock:one", "pydantic-ai/cohere:two", False, id="addresses that nobody knows"),
    ],
)
def test_an_endpoint_that_is_closed_is_closed_for_its_own_models(first, second, is_stopped):
    door = ModelGateway(ModelFactory(environ=ENVIRON), None)
    wrong_key = ScriptedModel([ModelCallError("answered 401.", fault="closed")])

    async def ask():
        with pytest.raises(RunStoppedError):
            await door(Named(first, wrong_key))(QUESTION)
        return await asyncio.gather(door(Named(second))(QUESTION), return_exceptions=True)

    (found,) = asyncio.run(ask())
    assert isinstance(found, RunStoppedError) is is_stopped


@pytest.mark.parametrize(("replay", "faults"), [("auto", 2), ("strict", 0)])
def test_a_run_that_sends_nothing_needs_neither_key_nor_price(replay, faults):
    models = ModelFactory(settings=Settings(replay=replay, max_cost=1.0), environ={})
    assert len(ModelGateway(models, None).faults([Named("openai/a-model-without-a-price")])) == faults


def test_two_names_of_one_endpoint_keep_their_own():
    row = {"provider": "openai", "model": "m"}
    table = {"low": {**row, "input": 1, "output": 1}, "high": {**row, "input": 100, "output": 100}}
    models = ModelFactory(settings=Settings(models=table), environ=ENVIRON)
    door = ModelGateway(models, None)
    assert [door(models.chat(name)).name for name in table] == ["low", "high"]
