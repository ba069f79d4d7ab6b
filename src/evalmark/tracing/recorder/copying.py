"""What is recorded of a value, copied while the app waits: cheap, and without a line of anybody's code.

Whatever the app does to the value later, the copy stays as it is. Texts and numbers cannot change and are not copied.
"""

from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any

from evalmark.core.values.plain_data import MAX_DEPTH, TRUNCATED

MOST_ITEMS = 10_000
"""Items of one value, those of its parts included; the rest is cut off, so that no call waits for long."""
_PLAIN = frozenset((str, int, float, bool, type(None), bytes))
_IMMUTABLE = frozenset(("datetime", "decimal", "fractions", "pathlib", "uuid", "ipaddress"))
"""Modules whose objects say in their text all that they hold."""
_FRAMEWORKS = frozenset(("agents", "langchain_core", "langgraph", "openai", "pydantic_ai"))
"""Packages whose messages and results are read later, field by field; nobody changes those in place."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A message or a result of a framework, which is read off the app's thread."""

    value: Any


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a stream gave, copied piece by piece; joined off the app's thread."""

    found: list[Any]


def copied(value: Any) -> Any:
    """The value as plain data, or as near to it as can be had without running foreign code.

    >>> rows = [{"a": 1}]
    >>> copy = copied(rows)
    >>> rows[0]["a"] = 2
    >>> copy
    [{'a': 1}]
    """
    return value if type(value) in _PLAIN else _copied(value, [MOST_ITEMS], 0)


def _copied(value: Any, left: list[int], depth: int) -> Any:
    """`left` counts down the items that may still be copied."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if depth >= MAX_DEPTH:
        return TRUNCATED
    if kind is dict:
        return _mapping(value, left, depth + 1)
    if kind is list or kind is tuple:
        return _sequence(value, left, depth + 1)
    return _object(value, left, depth + 1)


def _sequence(value: Any, left: list[int], depth: int) -> list[Any]:
    room = left[0]
    left[0] -= len(value)
    kept = value if left[0] >= 0 else [*value[: max(room, 0)], TRUNCATED]
    return [
        item
        if (kind := type(item)) in _PLAIN
        # Messages are mappings of a few texts, and conversations are what most inputs are made of.
        else _mapping(item, left, depth + 1)
        if kind is dict and depth < MAX_DEPTH
        else _copied(item, left, depth)
        for item in kept
    ]


def _mapping(value: Any, left: list[int], depth: int) -> dict[str, Any]:
    room = left[0]
    left[0] -= len(value)
    if left[0] >= 0:
        for key, item in dict.items(value):
            if type(item) not in _PLAIN or type(key) is not str:
                break
        else:
            return dict.copy(value)
    items = dict.items(value)
    kept = items if left[0] >= 0 else [*islice(items, max(room, 0)), (TRUNCATED, TRUNCATED)]
    return {
        key if type(key) is str else str(_copied(key, left, depth)): (
            item if type(item) in _PLAIN else _copied(item, left, depth)
        )
        for key, item in kept
    }


def _object(value: Any, left: list[int], depth: int) -> Any:
    kind = type(value)
    root = kind.__module__.partition(".")[0]
    if kind is Pieces:
        return value
    if root in _FRAMEWORKS:
        return Foreign(value)
    if isinstance(value, Enum):
        return _copied(value.value, left, depth)
    if (bare := _bare(value, left, depth)) is not value:
        return bare
    if root in _IMMUTABLE:
        return str(value)
    if root == "numpy":
        return _array(value, left)
    fields = _fields(kind, value)
    return f"<{kind.__module__}.{kind.__qualname__}>" if fields is None else _mapping(fields, left, depth)


def _bare(value: Any, left: list[int], depth: int) -> Any:
    """What a subclass of one of Python's own types holds; the value itself where it is none."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        return _mapping(value, left, depth)
    if isinstance(value, (list, tuple)):
        return _sequence(list(islice(value, MOST_ITEMS + 1)), left, depth)
    if isinstance(value, (set, frozenset)):
        return sorted(_sequence(list(islice(value, MOST_ITEMS + 1)), left, depth), key=repr)
    return value


def _array(value: Any, left: list[int]) -> Any:
    """A number or an array of numpy's, which is known by its module."""
    size = getattr(value, "size", None)
    if type(size) is not int or size > left[0]:
        return f"<numpy.{type(value).__name__} of {size} items>"
    left[0] -= size
    return value.tolist()


def _fields(kind: type, value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass or of a model of pydantic's; None of anything else."""
    declared = getattr(kind, "__dataclass_fields__", None)
    if declared is not None:
        return {name: getattr(value, name) for name in declared if hasattr(value, name)}
    if hasattr(kind, "__pydantic_fields__"):
        return dict(vars(value))
    return None
