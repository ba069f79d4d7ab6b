"""Embeds texts for the RAG functions, and looks up vectors by text."""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import Embedder
from evalmark.core.settings import Settings, load_settings
from evalmark.models.embeddings.adapters import FunctionEmbedder, as_embedder
from evalmark.models.embeddings.load import load_embedder
from evalmark.scoring.builtin.cosine import Matrix, rows

Model = str | Callable[[list[str]], Any]
"""A model's name, its folder, a function from texts to an array (n, d), or LangChain Embeddings."""


async def embed_texts(texts: Iterable[str], model: Model) -> Callable[[Sequence[str]], Matrix]:
    """Embed texts in one call, each once; the result is a function that returns the vectors of given texts."""
    unique = list(dict.fromkeys(texts))
    vectors = await _embed_exact(_embedder(model), unique)
    place = {text: number for number, text in enumerate(unique)}
    return lambda wanted: vectors[[place[text] for text in wanted]]


async def _embed_exact(embedder: Embedder, texts: list[str]) -> Matrix:
    """Return the vectors in the precision of the user's function, if it is one."""
    if not isinstance(embedder, FunctionEmbedder):
        return rows(await embedder(texts))
    results: list[Any] = []
    checked = await replace(embedder, function=_capture(embedder, results))(texts)
    return rows(checked if isinstance(results[0], Awaitable) else results[0])


def _capture(embedder: FunctionEmbedder, results: list[Any]) -> Callable[[list[str]], Any]:
    """Return the embedder's function wrapped so that it also appends its result to a list."""

    def call(texts: list[str]) -> Any:
        results.append(embedder.function(texts))
        return results[0]

    async def wait(texts: list[str]) -> Any:
        results.append(await embedder.function(texts))
        return results[0]

    return wait if embedder.awaits else call


def as_texts(contexts: Sequence[str] | None) -> list[str]:
    """Return the contexts as a list.

    Raises:
        ConfigError: They are a single text, or one of them is not a text.
    """
    if isinstance(contexts, str | Mapping) or not isinstance(contexts, Iterable | None):
        raise ConfigError(f"contexts is {_describe_kind(contexts)}; pass a list of texts.")
    passages = list(() if contexts is None else contexts)
    check_texts({f"contexts[{number}]": text for number, text in enumerate(passages)})
    return passages


def check_texts(results: Mapping[str, Any]) -> None:
    """Raise an error for values that are not texts.

    Raises:
        ConfigError: A value is not a str.
    """
    for name, value in results.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name} is {_describe_kind(value)}; pass a text (str).")


def _describe_kind(value: Any) -> str:
    return "None" if value is None else "one text" if isinstance(value, str) else f"of type {type(value).__name__}"


def _embedder(model: Model) -> Embedder:
    if not isinstance(model, str):
        return as_embedder(model)
    return _load_cached(model, load_settings(os.environ, Path.cwd()), Path.cwd())


@lru_cache(maxsize=2)
def _load_cached(name: str, settings: Settings, folder: Path) -> Embedder:
    """Load a model and keep it: loading takes long, and these functions are called once per question."""
    return load_embedder(name, settings, (folder,))
