"""Copies of the values to record.

They are made in the thread of the app: quickly, and without running code of the app. A later change of the value does not
change the copy. Strings and numbers are immutable, so they are not copied.
"""

from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any

from evalmark.core.values.plain_data import MAX_DEPTH, TRUNCATED

MAX_ITEMS = 10_000
"""Largest number of items copied of one value, nested items included; the rest is cut off to keep calls fast."""
_PLAIN = frozenset((str, int, float, bool, type(None), bytes))
_IMMUTABLE = frozenset(("datetime", "decimal", "fractions", "pathlib", "uuid", "ipaddress"))
"""Modules whose objects are recorded as `str(object)`, which holds all their data."""
_FRAMEWORKS = frozenset(("agents", "langchain_core", "langgraph", "openai", "pydantic_ai"))
"""Packages whose messages and results are read later in the writer thread; apps do not change these objects in place."""


@dataclass(frozen=True, slots=True)
class OpaqueObject:
    """A message or result of a framework, stored without a copy and read in the writer thread."""

    value: Any


@dataclass(frozen=True, slots=True)
class StreamPieces:
    """Copies of the items that a stream yielded; the writer thread joins them."""

    items: list[Any]


@dataclass(frozen=True, slots=True)
class Arguments:
    """A copy of the arguments of one call; the writer thread makes the input of the span from it."""

    names: tuple[str, ...]
    """Names of the positional parameters."""
    required: str
    """The only required parameter; empty where there are none or several."""
    positional: list[Any]
    named: dict[str, Any]

    @property
    def input(self) -> Any:
        """The value of the only required parameter if nothing else was passed; otherwise all arguments by name."""
        named = dict(zip(self.names, self.positional, strict=False))
        if self.required and len(self.positional) + len(self.named) == 1:
            return {**named, **self.named}.get(self.required, {**named, **self.named})
        rest = self.positional[len(self.names) :]
        return {**named, **({"args": rest} if rest else {}), **self.named}


def copy_value(value: Any) -> Any:
    """Copy a value to plain data, as far as that is possible without running code of the app.

    >>> rows = [{"a": 1}]
    >>> copy = copy_value(rows)
    >>> rows[0]["a"] = 2
    >>> copy
    [{'a': 1}]
    """
    return value if type(value) in _PLAIN else _copy(value, [MAX_ITEMS], 0)


def _copy(value: Any, left: list[int], depth: int) -> Any:
    """Copy a value; `left` holds the number of items that may still be copied."""
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
    allowed = left[0]
    left[0] -= len(value)
    items = value if left[0] >= 0 else [*value[: max(allowed, 0)], TRUNCATED]
    return [
        item
        if (kind := type(item)) in _PLAIN
        # Most inputs are conversations: lists of small mappings, copied here without another call.
        else _mapping(item, left, depth + 1)
        if kind is dict and depth < MAX_DEPTH
        else _copy(item, left, depth)
        for item in items
    ]


def _mapping(value: Any, left: list[int], depth: int) -> dict[str, Any]:
    allowed = left[0]
    left[0] -= len(value)
    if left[0] >= 0:
        for key, item in dict.items(value):
            if type(item) not in _PLAIN or type(key) is not str:
                break
        else:
            return dict.copy(value)
    items = dict.items(value)
    limited = items if left[0] >= 0 else [*islice(items, max(allowed, 0)), (TRUNCATED, TRUNCATED)]
    return {
        key if type(key) is str else str(_copy(key, left, depth)): (
            item if type(item) in _PLAIN else _copy(item, left, depth)
        )
        for key, item in limited
    }


def _object(value: Any, left: list[int], depth: int) -> Any:
    kind = type(value)
    root = kind.__module__.partition(".")[0]
    if kind is StreamPieces:
        return value
    if root in _FRAMEWORKS:
        return OpaqueObject(value)
    if isinstance(value, Enum):
        return _copy(value.value, left, depth)
    if (bare := _builtin_content(value, left, depth)) is not value:
        return bare
    if root in _IMMUTABLE:
        return str(value)
    if root == "numpy":
        return _array(value, left)
    fields = _fields(kind, value)
    return f"<{kind.__module__}.{kind.__qualname__}>" if fields is None else _mapping(fields, left, depth)


def _builtin_content(value: Any, left: list[int], depth: int) -> Any:
    """The content of an instance of a subclass of a built-in type; the value itself if it is not one."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        return _mapping(value, left, depth)
    if isinstance(value, (list, tuple)):
        return _sequence(list(islice(value, MAX_ITEMS + 1)), left, depth)
    if isinstance(value, (set, frozenset)):
        return sorted(_sequence(list(islice(value, MAX_ITEMS + 1)), left, depth), key=repr)
    return value


def _array(value: Any, left: list[int]) -> Any:
    """The content of a numpy number or array."""
    size = getattr(value, "size", None)
    if type(size) is not int or size > left[0]:
        return f"<numpy.{type(value).__name__} of {size} items>"
    left[0] -= size
    return value.tolist()


def _fields(kind: type, value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass or a pydantic model; None for anything else."""
    declared = getattr(kind, "__dataclass_fields__", None)
    if declared is not None:
        return {name: getattr(value, name) for name in declared if hasattr(value, name)}
    if hasattr(kind, "__pydantic_fields__"):
        return dict(vars(value))
    return None
