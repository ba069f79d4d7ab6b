"""What the rooms ask of each other and of users' objects: small protocols, no code."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Result, Score, Trial
from evalmark.core.values.tool import ToolRecording


class Target(Protocol):
    """What is under test. May raise: the engine makes an error of it."""

    @property
    def name(self) -> str: ...

    async def __call__(self, case: Case) -> Output: ...


class Scorer(Protocol):
    """A scorer as the engine meets it, already bound to its name and threshold. May raise."""

    @property
    def name(self) -> str: ...

    async def __call__(self, case: Case, output: Output) -> Sequence[Score]: ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors, one row a text, in order."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the vectors would: weights, pooling, mode."""
        ...

    async def __call__(self, texts: Sequence[str]) -> "Vectors": ...


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers one request, or raises."""

    @property
    def name(self) -> str:
        """As the user named it, `provider/model`."""
        ...

    @property
    def identity(self) -> str:
        """Which model at which endpoint, without secrets; part of every call's key."""
        ...

    async def __call__(self, request: Request) -> Reply:
        """The reply.

        Raises:
            ModelCallError: there is none.
            NotRecordedError: strict replay has none.
            RunStoppedError: no further call may be made.
        """
        ...


class CallLog(Protocol):
    """Keeps calls. What `keep` has returned from survives a kill at any moment."""

    async def find(self, key: str) -> Reply | None:
        """The reply that is kept under this key, as one that is replayed; None where none may stand for the truth."""
        ...

    async def identities(self) -> Sequence[str]:
        """The models, each at its address, of which replies are kept that may stand for the truth."""
        ...

    async def sending(self, key: str) -> None:
        """Note that a request is about to go out; a resumed run counts those that never came back."""
        ...

    async def keep(self, call: Call) -> Call | None:
        """Make the call durable, in the place of an earlier one with its key; what is kept of it, where that is less.

        A call that cannot be replayed does not take the place of one that can. When the caller is cancelled meanwhile,
        the call is kept all the same.
        """
        ...


class ToolLog(Protocol):
    """Keeps what tools gave. Both methods may be called from any number of threads at once."""

    def find(self, key: str) -> ToolRecording | None:
        """The recording with this key.

        Raises:
            DamagedRecordingError: there is one, and it cannot be read.
            StoreError: nothing can be read.
        """
        ...

    def keep(self, recording: ToolRecording, *, anew: bool = False) -> ToolRecording:
        """Make the recording durable, and give the one that stands under its key from now on.

        An earlier one stays, unless it is damaged or `anew` is wanted: all who call a tool at the same moment go on
        with the same result.

        Raises:
            StoreError: it cannot be kept.
        """
        ...


class EmbeddingCache(Protocol):
    """Keeps vectors by model and text. What is not known is simply missing from the answer."""

    async def get(self, fingerprint: str, texts: Sequence[str]) -> "Mapping[str, Vectors]":
        """The known ones of `texts`, each a 1-D float32 vector."""
        ...

    async def put(self, fingerprint: str, vectors: "Mapping[str, Vectors]") -> None: ...


class Sink(Protocol):
    """Where results go. When `write` returns they are durable."""

    async def write(self, results: Sequence[Result]) -> None: ...


class CompletedTrials(Protocol):
    """Which trials need not run again."""

    def __call__(self, trial: Trial) -> bool: ...

    def output(self, trial: Trial) -> Output | None:
        """What the target gave for a recorded trial; None where there is none."""
        ...
