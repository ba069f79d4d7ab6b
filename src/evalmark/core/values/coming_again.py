"""The canonical text of a value that comes with thousands of requests: a schema, or settings."""

from functools import lru_cache
from typing import Any

from .plain_data import canonical

_EXACT = frozenset((type(None), str, bool, int, float))
_DEEPEST = 30


class _Seen:
    """A value as it stood when its text was made: the same object, in which nothing has changed since."""

    __slots__ = ("shown", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.shown = value, repr(value)

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and self.value is other.value and self.shown == other.shown


def text_again(value: Any) -> str:
    """`canonical`, sooner for an object that came before."""
    if type(value) is not dict or not value:
        return canonical(value)
    known = _text(_Seen(value))
    return canonical(value) if known is None else known


@lru_cache(maxsize=64)
def _text(seen: _Seen) -> str | None:
    """The text; None for what may change without showing it."""
    return canonical(seen.value) if _shows_all(seen.value) else None


def _shows_all(value: Any, depth: int = 0) -> bool:
    """Whether everything that a value holds stands in its `repr`."""
    if depth > _DEEPEST:  # a cycle, most likely
        return False
    if type(value) is dict:
        return all(type(key) is str and _shows_all(item, depth + 1) for key, item in value.items())
    if type(value) in (list, tuple):
        return all(_shows_all(item, depth + 1) for item in value)
    return type(value) in _EXACT
