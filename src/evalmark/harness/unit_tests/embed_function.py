"""The embedding model of a strategy: the default one, a name, a function, or an object of LangChain."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any, get_origin

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import signature_of
from evalmark.core.foreign.threads import is_async_callable
from evalmark.core.protocols import Embedder
from evalmark.models.embeddings.adapters import FunctionEmbedder, as_embedder
from evalmark.runs.planning.models import ModelFactory
from evalmark.runs.planning.plan import load_embedder

OPENAI = "OpenAIEmbeddings"
"""PromptWatch's name of the embeddings of OpenAI."""
OPENAI_MODEL = "openai/text-embedding-ada-002"
"""The default model of LangChain's class of that name."""


def embedder_of(function: Any, models: ModelFactory) -> Embedder:
    """Return the embedder of a strategy's `embed_function`; None means the model of the settings.

    Raises:
        ConfigError: it is not an embedding model.
        ModelError: the weights of a local model cannot be loaded.
    """
    settings = models.settings
    if function is None or isinstance(function, str):
        name = settings.embeddings if function is None else OPENAI_MODEL if function == OPENAI else function
        found = models.embedder(name) or load_embedder(name, settings, (Path.cwd(),))
        if found is None:
            raise ConfigError(f"embed_function: there is no embedding model {name!r}.")
        return found
    if not hasattr(function, "embed_documents") and callable(query := getattr(function, "embed_query", None)):
        function = query
    try:
        embedder = as_embedder(function)
    except ConfigError:
        raise ConfigError(
            f"embed_function is {function!r:.100}; give a function of a text that returns its vector, an object with "
            "`embed_query` (LangChain's Embeddings), or the name of a model."
        ) from None
    if isinstance(embedder, FunctionEmbedder) and embedder.function is function:
        return replace(embedder, function=OneOrMany(function))
    return embedder


class OneOrMany:
    """A function of one text, or of a list of texts, called as it expects.

    The annotation of its first parameter decides. Without one, the first texts are passed as a list; if the function returns
    no list of vectors or raises, it is called for each text.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._takes_lists = _annotated_for_lists(function)

    def __call__(self, texts: list[str]) -> Any:
        """Return one vector for each text; of an async function, an awaitable."""
        if is_async_callable(self._function):
            return self._call_async(texts)
        if self._takes_lists is None:
            vectors = self._try_list(texts)
            self._takes_lists = _is_rows(vectors, len(texts))
            if self._takes_lists:
                return vectors
        return self._function(texts) if self._takes_lists else [self._function(text) for text in texts]

    def _try_list(self, texts: list[str]) -> Any:
        try:
            return self._function(list(texts))
        except Exception:  # noqa: BLE001  foreign code: a function of one text may raise anything for a list
            return None

    async def _call_async(self, texts: list[str]) -> Any:
        if self._takes_lists is None:
            vectors = await self._try_list_async(texts)
            self._takes_lists = _is_rows(vectors, len(texts))
            if self._takes_lists:
                return vectors
        return await self._function(texts) if self._takes_lists else [await self._function(text) for text in texts]

    async def _try_list_async(self, texts: list[str]) -> Any:
        try:
            return await self._function(list(texts))
        except Exception:  # noqa: BLE001  foreign code, as above
            return None


def _annotated_for_lists(function: Callable[..., Any]) -> bool | None:
    """Return whether the first parameter is annotated as a list of texts; None without an annotation."""
    try:
        annotation = next(iter(signature_of(function).parameters.values())).annotation
    except (TypeError, ValueError, StopIteration):
        return None
    text = annotation if isinstance(annotation, str) else getattr(get_origin(annotation) or annotation, "__name__", "")
    if text == "str":
        return False
    return True if text.lower().startswith(("list", "sequence", "iterable", "collection", "tuple")) else None


def _is_rows(vectors: Any, number: int) -> bool:
    """Return whether it holds one vector for each text."""
    shape = getattr(vectors, "shape", None)
    if shape is not None:
        return len(shape) == 2 and shape[0] == number
    if not isinstance(vectors, Sequence) or len(vectors) != number:
        return False
    return all(isinstance(row, Iterable) and all(isinstance(x, Real) for x in row) for row in vectors)
