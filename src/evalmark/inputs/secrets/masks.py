"""Mask secrets in texts and data: those this process knows, and those with a known format."""

from collections.abc import Callable
from typing import Any

from .fields import MASK
from .known_secrets import mask_known_secrets
from .patterns import mask_patterns

_SHORTEST = 8


def mask_secrets(text: str, *, careful: bool = False) -> str:
    """Mask each key, token and password in a text.

    Masked are secrets from environment variables, keys that were sent to a server, and texts with the format of a
    secret.

    Args:
        text: any text.
        careful: whether a value after a name such as `password:` stays if it looks like a word or code.

    >>> mask_secrets("use sk-proj-abcdefghijklmnopqrstuvwx for it, or https://ann:pa55@db/x")
    'use (not kept) for it, or https://ann:(not kept)@db/x'
    """
    if len(text) < _SHORTEST:
        return text
    return mask_patterns(mask_known_secrets(text), _mark, careful=careful)


def mask_secrets_in_data(data: Any) -> Any:
    """Mask each secret in plain data, carefully; data without secrets is returned unchanged.

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
    """Collect all texts of plain data, including the keys of mappings."""
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
    """Apply a function to every text of plain data, including the keys of mappings.

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
