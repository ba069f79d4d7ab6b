"""The protocols between packages, and those that users' objects implement."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from evalmark.core.values.tool import ToolRecording

    Vectors = npt.NDArray[np.float32]

from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Result, Score, Trial


class Target(Protocol):
    """The system under test. An exception becomes the error of the output."""

    @property
    def name(self) -> str: ...

    async def __call__(self, case: Case) -> Output: ...


class Scorer(Protocol):
    """A scorer that is bound to its name and threshold. An exception becomes a score with status `error`."""

    @property
    def name(self) -> str: ...

    async def __call__(self, case: Case, output: Output) -> Sequence[Score]: ...


@runtime_checkable
class Embedder(Protocol):
    """An embedding model: it turns texts into vectors, one row for each text, in order."""

    @property
    def fingerprint(self) -> str:
        """A hash that changes whenever the vectors would: weights, pooling, mode."""
        ...

    async def __call__(self, texts: Sequence[str]) -> "Vectors": ...


@runtime_checkable
class ChatModel(Protocol):
    """A chat model: it replies to one request, or raises."""

    @property
    def name(self) -> str:
        """The name the user gave, as `provider/model`."""
        ...

    @property
    def identity(self) -> str:
        """The model and its endpoint, without secrets. It is part of every call's key."""
        ...

    async def __call__(self, request: Request) -> Reply:
        """Send a request and return the reply.

        Raises:
            ModelCallError: the model gave no reply.
            NotRecordedError: strict replay has no cached reply.
            RunStoppedError: the run may make no further call.
        """
        ...


class CallLog(Protocol):
    """Storage for model calls. Once `keep` returns, the call survives even if the process is killed."""

    async def find(self, key: str) -> Reply | None:
        """Return the cached reply with this key, marked as replayed; None if there is no reusable reply."""
        ...

    async def identities(self) -> Sequence[str]:
        """Return the identities of all models that have reusable replies."""
        ...

    async def sending(self, key: str) -> None:
        """Record that a request is about to be sent; a resumed run counts those that got no reply."""
        ...

    async def keep(self, call: Call) -> Call | None:
        """Save the call durably, replacing an earlier one with the same key.

        A call that cannot be replayed does not replace one that can. The call is saved even if the caller is
        cancelled meanwhile.

        Returns:
            The call as saved, if that differs (secrets are masked); else None.
        """
        ...


class ToolLog(Protocol):
    """Storage for tool results. Both methods are thread-safe."""

    def find(self, key: str) -> "ToolRecording | None":
        """Return the recording with this key, or None.

        Raises:
            DamagedRecordingError: the recording exists but cannot be read.
            StoreError: the store cannot be read.
        """
        ...

    def keep(self, recording: "ToolRecording", *, overwrite: bool = False) -> "ToolRecording":
        """Save the recording durably, and return the one that is valid for its key from now on.

        An earlier recording stays valid unless it is damaged or `overwrite` is true, so concurrent callers of a tool all
        continue with the same result.

        Raises:
            StoreError: the recording cannot be saved.
        """
        ...


class EmbeddingCache(Protocol):
    """A cache of vectors by model and text."""

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """Return the cached vectors of `texts`, each a 1-D float32 array. Texts that are not cached are missing."""
        ...

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None: ...


class Sink(Protocol):
    """A destination for results. Once `write` returns, they are durable."""

    async def write(self, results: Sequence[Result]) -> None: ...


class CompletedTrials(Protocol):
    """The trials that need not run again."""

    def __call__(self, trial: Trial) -> bool: ...

    def output(self, trial: Trial) -> Output | None:
        """Return the recorded output of a trial; None if it has none."""
        ...
