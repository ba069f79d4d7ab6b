"""What a worker is allowed to ask and to embed: the model that the coordinator means, and no other one of its name."""

import asyncio
import pickle
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from evalmark import Turn
from evalmark.core.settings import Settings
from evalmark.core.values.call import Reply, Request
from evalmark.errors import ConfigError, ModelError
from evalmark.runs.cluster.messages import CallRequested, SendNow
from evalmark.runs.cluster.payload import EmbedderSpec, Payload, embedder_spec
from evalmark.runs.cluster.ray_actors import EmbeddingActor
from evalmark.runs.cluster.remote_calls import CallProxy, RemoteCall
from evalmark.runs.planning.models import ModelGateway
from evalmark.testing.embedders import HashEmbedder
from evalmark.testing.memory import MemoryCallLog

from .stories import NotHere, OneModel

REQUEST = Request(messages=(Turn(role="user", content="?"),))


@pytest.mark.parametrize(
    ("mine", "theirs", "is_refused"),
    [
        pytest.param("openai:a@http://one", "openai:a@http://one", False, id="the same address"),
        pytest.param("openai:a@http://one", "openai:a@http://two", True, id="another address"),
        pytest.param("openai:a@http://one", "own:a", False, id="an object of the user's with its own way to ask"),
    ],
)
def test_a_model_that_a_worker_opens_by_name_is_asked_where_the_coordinator_asks_it(mine, theirs, is_refused):
    door = ModelGateway(OneModel(settings=Settings(), model=NotHere("openai/a", mine)), MemoryCallLog())

    async def told():
        call = RemoteCall(1, lambda said: isinstance(said, SendNow) and call.finish(Reply(text="yes")))
        return (await CallProxy(door).run(CallRequested(1, "openai/a", theirs, REQUEST), call)).value

    said = asyncio.run(told())
    if is_refused:
        assert isinstance(said, ConfigError)
        assert "openai/a is openai:a@http://two for a worker, and openai:a@http://one where" in str(said)
    else:
        assert not isinstance(said, Exception), said


@dataclass(frozen=True)
class Loads:
    """Leaves a file in a folder each time that it is loaded."""

    folder: str
    fingerprint: str = "loads"

    def __reduce__(self):
        return loaded, (self.folder,)

    async def __call__(self, texts):
        return np.zeros((len(texts), 2), np.float32)


def loaded(folder):
    """Unpacking is loading."""
    (Path(folder) / str(len([*Path(folder).iterdir()]))).touch()
    return Loads(folder)


def sent(thing):
    """Something on its way to an actor here, where all can be imported."""
    return Payload(
        content=pickle.dumps(thing),
        settings=Settings(),
        folder=str(Path.cwd()),
        path=tuple(sys.path),
        version=version("evalmark"),
    )


def test_an_actor_that_is_started_where_another_model_lies_embeds_nothing():
    other = embedder_spec(HashEmbedder(dimensions=4))
    actor = EmbeddingActor(sent(EmbedderSpec(embedder=HashEmbedder(dimensions=8), fingerprint=other.fingerprint)))
    for call in (actor.start, lambda: actor.embed(["a"])):
        with pytest.raises(ModelError, match=f"the run was started with {other.fingerprint}; put the same files"):
            asyncio.run(call())


def test_an_actor_gives_the_vectors_of_its_model():
    actor = EmbeddingActor(sent(embedder_spec(HashEmbedder())))
    assert (asyncio.run(actor.embed(["a", "b"])) == asyncio.run(HashEmbedder()(["a", "b"]))).all()


def test_an_actor_that_many_ask_at_once_loads_its_model_once(tmp_path):
    actor = EmbeddingActor(sent(embedder_spec(Loads(str(tmp_path)))))
    before = len([*tmp_path.iterdir()])

    async def asked():
        await asyncio.gather(*(actor.embed([str(n)]) for n in range(8)))

    asyncio.run(asked())
    assert len([*tmp_path.iterdir()]) == before + 1
