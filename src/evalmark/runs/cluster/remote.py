"""What the hands of a run share, as each of them meets it: models, tools and vectors that the desk has the say over."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from evalmark.core.context.tool_replay import ToolReplay
from evalmark.core.protocols import ChatModel, ToolLog
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.tool import ToolRecording
from evalmark.models.middleware.keyed_request import with_key
from evalmark.runs.planning.models import ConfiguredModel, ModelGateway, Models

from .channel import Channel

if TYPE_CHECKING:
    from evalmark.core.context.tool_replay import ToolMode
    from evalmark.core.protocols import Vectors


class RemoteModel:
    """A model that is asked from here, when the desk says so: replay, journal, limits and budget are the desk's."""

    def __init__(self, model: ChatModel, post: Channel) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._post = model, post

    async def __call__(self, request: Request) -> Reply:
        """The model's reply, durable at the desk. Raises what the desk raises."""
        return await self._post.ask(self._model, with_key(request, self.identity))


class RemoteGateway(ModelGateway):
    """The door of a hand: puts the way to the desk around every model."""

    def __init__(self, models: Models, post: Channel) -> None:
        super().__init__(models, None)
        self._post = post

    def __call__(self, model: ChatModel) -> ChatModel:
        """The model as the desk lets it be asked."""
        if isinstance(model, ConfiguredModel):
            return replace(model, model=self(model.model))
        return RemoteModel(model, self._post)


class RemoteTools(ToolReplay):
    """The tools of a run: what is recorded, and how often, is known to the desk."""

    def __init__(self, post: Channel, mode: "ToolMode") -> None:
        super().__init__(_no_tool_log, mode)
        self._post = post

    def claim(self, tool: str, version: str, home: str) -> None:
        """Say which function goes by a name. Raises ToolError: another one does."""
        self._post.wants_in_thread("claim", tool, version, home)

    def find(self, key: str) -> ToolRecording | None:
        """What is recorded. Raises what the desk raises."""
        return cast(ToolRecording | None, self._post.wants_in_thread("find", key))

    def keep(self, recording: ToolRecording) -> ToolRecording:
        """Make a call durable. Raises what the desk raises."""
        return cast(ToolRecording, self._post.wants_in_thread("keep", recording))

    def failed(self) -> None:
        """A tool was called and raised, so nothing is recorded."""
        self._post.wants_in_thread("failed")


def _no_tool_log() -> "ToolLog":
    raise LookupError("the recordings of tools are kept by the desk")


class RemoteVectorCache:
    """The vectors that the desk keeps."""

    def __init__(self, post: Channel) -> None:
        self._post = post

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """The known ones of `texts`."""
        return cast("Mapping[str, Vectors]", await self._post.wants("vectors", fingerprint, list(texts)))

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None:
        """Have these kept."""
        await self._post.wants("keep_vectors", fingerprint, dict(vectors))


class RemoteEmbedder:
    """An embedding model behind a server, which the desk asks: its limits hold for all hands together."""

    def __init__(self, post: Channel, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self._post = post

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """One vector a text, in order. Raises what the desk raises."""
        return cast("Vectors", await self._post.wants("embed", list(texts)))
