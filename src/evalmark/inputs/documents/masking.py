"""Secrets in texts: those that this process knows, and those that are known by their shape."""

from collections.abc import Callable
from typing import Any

from .known import MASK, without_known
from .shapes import by_shape

_SHORTEST = 8


def masked(text: str, *, careful: bool = False) -> str:
    """The text with a mark in the place of each key, token and password.

    Known are the values of environment variables that are secrets, keys that were sent to a server, and what has the shape
    of a secret. With `careful`, what stands behind a name such as `password:` stays where it looks like a word or code.

    >>> masked("use sk-proj-abcdefghijklmnopqrstuvwx for it, or https://ann:pa55@db/x")
    'use (not kept) for it, or https://ann:(not kept)@db/x'
    """
    if len(text) < _SHORTEST:
        return text
    return by_shape(without_known(text), _mark, careful=careful)


def masked_data(data: Any) -> Any:
    """Plain data with a mark in the place of each secret, careful with what an app may mean; itself where there is none.

    >>> data = {"url": "https://ann:pa55@db/x"}
    >>> masked_data(data), masked_data({"n": 1})
    ({'url': 'https://ann:(not kept)@db/x'}, {'n': 1})
    """
    texts: list[str] = []
    _gather(data, texts)
    together = "\n".join(texts)
    return data if masked(together, careful=True) == together else in_every_text(data, _careful)


def _mark(_: str) -> str:
    return MASK


def _careful(text: str) -> str:
    return masked(text, careful=True)


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


def in_every_text(data: Any, change: Callable[[str], str]) -> Any:
    """Plain data with each of its texts changed, those that are keys of mappings too.

    >>> in_every_text({"a": ["b", 1]}, str.upper)
    {'A': ['B', 1]}
    """
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {change(key): in_every_text(item, change) for key, item in data.items()}
    if isinstance(data, list):
        return [in_every_text(item, change) for item in data]
    return data
