"""Conversion to plain data: values that are equal after they were written as JSON and read again."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from evalmark.core.values.plain_data import MAX_DEPTH, canonical

_LONGEST_INT = 14_000
"""The maximum bits of an integer; Python refuses to print longer ones in decimal."""
_AS_TEXT = (date, time, timedelta, Decimal, PurePath, UUID)
"""Types that are identified by their text."""
_UNKNOWN = object()

Simplify = Callable[[Any], Any]
"""A function that converts an object to simpler data, or returns `_UNKNOWN`."""


class NotPlainError(Exception):
    """A value is not plain data; the text names the part: `[0]['price'] is of the type Decimal`."""


def as_result(value: Any) -> Any:
    """Convert a result to what a recording returns: equal, with lists instead of tuples.

    >>> as_result({"hits": ("tea", 1.5)})
    {'hits': ['tea', 1.5]}

    Raises:
        NotPlainError: a part of it has no form in JSON.
    """
    return _plain(value, "", 0, lambda _: _UNKNOWN)


def as_argument(value: Any) -> Any:
    """Convert an argument for the key of a call; dataclasses and pydantic models count by their fields.

    >>> as_argument([date(2026, 11, 21), {2, 1}])
    ['2026-11-21', [1, 2]]

    Raises:
        NotPlainError: a part of it is an object of an unknown type.
    """
    return _plain(value, "", 0, _simplify)


def _plain(value: Any, at: str, depth: int, simplify: Simplify) -> Any:
    if depth > MAX_DEPTH:
        raise NotPlainError(f"it is nested deeper than {MAX_DEPTH}")
    if not isinstance(value, Enum):
        if isinstance(value, dict):
            return {_name(key, at): _plain(item, f"{at}[{key!r}]", depth + 1, simplify) for key, item in value.items()}
        if isinstance(value, list) or type(value) is tuple:
            return [_plain(item, f"{at}[{number}]", depth + 1, simplify) for number, item in enumerate(value)]
        if value is None or isinstance(value, (str, int, float)):
            return _leaf(value, at)
    simpler = simplify(value)
    if simpler is _UNKNOWN:
        raise NotPlainError(f"{at or 'it'} is of the type {type(value).__name__}")
    return _plain(simpler, at, depth + 1, simplify)


def _leaf(value: Any, at: str) -> Any:
    """Convert a number, a text or None to its base type."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotPlainError(f"{at or 'it'} is {float(value)}, which JSON cannot represent")
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if value is None or isinstance(value, bool):
        return value
    if value.bit_length() > _LONGEST_INT:
        raise NotPlainError(f"{at or 'it'} is an integer of more than 4,000 digits")
    return int(value)


def _name(key: Any, at: str) -> str:
    if not isinstance(key, str) or isinstance(key, Enum):
        raise NotPlainError(f"{at or 'it'} has the key {key!r}, which is not a text")
    return str.__str__(key)


def _simplify(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, (set, frozenset)):
        return sorted(map(as_argument, value), key=canonical)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, type):
        return _UNKNOWN
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else _UNKNOWN
