"""The worker's side of shared resources: models, vectors and embeddings that the coordinator controls."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request
from evalmark.models.middleware.keyed_request import with_key
from evalmark.runs.planning.models import ConfiguredModel, ModelFactory, ModelGateway

from .channel import Channel

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors


class RemoteModel:
    """A model that this process calls when the coordinator allows; replay, call log, limits and budget are there."""

    def __init__(self, model: ChatModel, channel: Channel) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._channel = model, channel

    async def __call__(self, request: Request) -> Reply:
        """Return the model's reply, stored by the coordinator. Raises the coordinator's error."""
        return await self._channel.ask(self._model, with_key(request, self.identity))


class RemoteGateway(ModelGateway):
    """The model gateway of a worker: wraps every model in a `RemoteModel`."""

    def __init__(self, models: ModelFactory, channel: Channel) -> None:
        super().__init__(models, None)
        self._channel = channel

    def __call__(self, model: ChatModel) -> ChatModel:
        """Wrap a model."""
        if isinstance(model, ConfiguredModel):
            return replace(model, model=self(model.model))
        return RemoteModel(model, self._channel)


class RemoteVectorCache:
    """The vector cache of the coordinator."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """Return the cached vectors of `texts`."""
        return cast("Mapping[str, Vectors]", await self._channel.request("vectors", fingerprint, list(texts)))

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
        """Store vectors."""
        await self._channel.request("keep_vectors", fingerprint, dict(vectors))


class RemoteEmbedder:
    """An embedding server that the coordinator calls, so that its limits hold for all workers together."""

    def __init__(self, channel: Channel, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self._channel = channel

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector per text, in order. Raises the coordinator's error."""
        return cast("Vectors", await self._channel.request("embed", list(texts)))
