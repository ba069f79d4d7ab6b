"""Adapters for embedders of users: functions, LangChain embeddings, sentence-transformers models."""

import asyncio
import functools
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from evalmark.core.errors import ConfigError, ModelError
from evalmark.core.foreign.identity import describe_object
from evalmark.core.foreign.threads import DaemonThreads, is_async_callable
from evalmark.core.protocols import Embedder
from evalmark.core.values.plain_data import fingerprint

from .vectors import clean_texts, validate_vectors

if TYPE_CHECKING:
    from evalmark.core.protocols import Vectors

_SETTINGS = ("model", "model_name", "model_id", "deployment", "dimensions", "size", "normalize_embeddings")
"""Attributes of LangChain embeddings that identify the model."""


@dataclass(frozen=True, kw_only=True)
class FunctionEmbedder:
    """An embedder around a function from `list[str]` to one vector for each text; the vectors are checked."""

    function: Callable[[list[str]], Any]
    name: str
    fingerprint: str
    """Part of the cache key of the vectors."""
    awaits: bool = False
    """Whether the function is async; otherwise it runs in a thread."""
    threads: DaemonThreads = field(default_factory=DaemonThreads, repr=False, compare=False)
    """The threads for it; a call that hangs does not keep the process alive."""

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector for each text, in order.

        Raises:
            ModelError: The function raised, or did not return vectors.
        """
        cleaned = clean_texts(texts)
        try:
            result = self.function(cleaned) if self.awaits else await self.threads.run(lambda _: self.function(cleaned))
            if isinstance(result, Awaitable):
                result = await result
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # code of the user
            raise ModelError(f"The embedder {self.name} raised {type(error).__name__}: {error}") from error
        return validate_vectors(result, len(cleaned), self.name)


def as_embedder(thing: object, name: str = "") -> Embedder:
    """Return an embedder for an object of the user.

    The object is a function (plain or async) from `list[str]` to an array of shape (texts, dimensions), an object with
    LangChain's `embed_documents`, a `SentenceTransformer`, or an Embedder. `name` is its import path, such as
    `package.module:attribute`.

    Raises:
        ConfigError: It is something else.
    """
    if not isinstance(thing, type):
        if _is_sentence_transformer(thing):
            return sentence_transformer(thing, name or _unique(_name(thing)))
        if callable(method := getattr(thing, "embed_documents", None)):
            return _langchain(thing, method)
        if callable(thing) and isinstance(getattr(thing, "fingerprint", None), str):
            return cast(Embedder, thing)
        if callable(thing):
            own = f"function:{_identity(thing, name)}"
            return FunctionEmbedder(function=thing, name=name or _name(thing), fingerprint=own, awaits=_is_async(thing))
    raise ConfigError(
        f"{name or format(repr(thing), '.100')} is not an embedder. Pass a function of list[str] that returns "
        "one vector for each text, or an object with `embed_documents`."
    )


def sentence_transformer(model: Any, name: str) -> FunctionEmbedder:
    """Return an embedder for a loaded SentenceTransformer."""
    encode = functools.partial(model.encode, convert_to_numpy=True, show_progress_bar=False)
    return FunctionEmbedder(function=encode, name=name, fingerprint=f"sentence-transformers:{name}")


def _langchain(thing: Any, method: Callable[[list[str]], Any]) -> FunctionEmbedder:
    settings = [f"{key}={value}" for key in _SETTINGS if isinstance(value := getattr(thing, key, None), str | int)]
    waits = getattr(thing, "aembed_documents", None)
    identity = ",".join([_name(thing), *settings])
    return FunctionEmbedder(
        function=waits or method, name=_name(thing), fingerprint=f"langchain:{identity}", awaits=waits is not None
    )


def _is_sentence_transformer(thing: object) -> bool:
    return any(kind.__module__.startswith("sentence_transformers.") for kind in type(thing).__mro__)


def _is_async(thing: Any) -> bool:
    return is_async_callable(thing.func if isinstance(thing, functools.partial) else thing)


def _name(thing: Any) -> str:
    """`module:qualname` of a function, or of an object's class."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"


def _identity(thing: Any, name: str) -> str:
    """The identity of an embedder for the cache: the name and the code of a function.

    An embedder without a stable name (a lambda, a bound method, an object) gets an identity that is unique to this process.
    """
    if isinstance(thing, FunctionType) and (name or "<" not in thing.__qualname__):
        return f"{name or _name(thing)}#{fingerprint(describe_object(thing, docstrings=False))[:8]}"
    return name or _unique(_name(thing))


def _unique(name: str) -> str:
    return f"{name}@{uuid.uuid4().hex}"
