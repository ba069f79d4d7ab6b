"""Secrets in texts: those that this process knows, and those that are known by their shape."""

from collections.abc import Callable
from typing import Any

from .fields import MASK
from .known_secrets import mask_known_secrets
from .patterns import mask_patterns

_SHORTEST = 8


def mask_secrets(text: str, *, careful: bool = False) -> str:
    """The text with a mark in the place of each key, token and password.

    Known are the values of environment variables that are secrets, keys that were sent to a server, and what has the shape
    of a secret. With `careful`, what stands behind a name such as `password:` stays where it looks like a word or code.

    >>> mask_secrets("use sk-proj-abcdefghijklmnopqrstuvwx for it, or https://ann:pa55@db/x")
    'use (not kept) for it, or https://ann:(not kept)@db/x'
    """
    if len(text) < _SHORTEST:
        return text
    return mask_patterns(mask_known_secrets(text), _mark, careful=careful)


def mask_secrets_in_data(data: Any) -> Any:
    """Plain data with a mark in the place of each secret, careful with what an app may mean; itself where there is none.

    >>> data = {"url": "https://ann:pa55@db/x"}
    >>> mask_secrets_in_data(data), mask_secrets_in_data({"n": 1})
    ({'url': 'https://ann:(not kept)@db/x'}, {'n': 1})
    """
    texts: list[str] = []
    _gather(data, texts)
    together = "\n".join(texts)
    return data if mask_secrets(together, careful=True) == together else map_texts(data, _careful)


def _mark(_: str) -> str:
    return MASK


def _careful(text: str) -> str:
    return mask_secrets(text, careful=True)


def _gather(data: Any, texts: list[str]) -> None:
    """All texts of plain data, those that are keys of mappings too."""
    if isinstance(data, str):
        texts.append(data)
    elif isinstance(data, dict):
        texts += data
        for item in data.values():
            _gather(item, texts)
    elif isinstance(data, list):
        for item in data:
            _gather(item, texts)


def map_texts(data: Any, change: Callable[[str], str]) -> Any:
    """Plain data with each of its texts changed, those that are keys of mappings too.

    >>> map_texts({"a": ["b", 1]}, str.upper)
    {'A': ['B', 1]}
    """
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {change(key): map_texts(item, change) for key, item in data.items()}
    if isinstance(data, list):
        return [map_texts(item, change) for item in data]
    return data
