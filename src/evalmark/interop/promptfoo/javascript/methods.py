"""The methods and properties of each type of JavaScript's values."""

import math
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from .list_methods import LIST_METHODS
from .sequence_methods import Call, Method, argument
from .text_methods import PATTERN_METHODS, TEXT_METHODS
from .values import (
    UNDEFINED,
    Pattern,
    UniqueValues,
    key_of,
    number_text,
    to_integer,
    to_text,
    type_error,
)


def _fixed(number: float, given: list[Any], call: Call) -> str:
    digits = to_integer(argument(given, 0))
    if not 0 <= digits <= 100:
        raise type_error("toFixed takes from 0 to 100 digits")
    if not math.isfinite(number) or abs(number) >= 1e21:
        return number_text(number)
    text = str(Decimal(abs(number)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))
    return f"-{text}" if number < 0 and Decimal(text) != 0 else text


def _add(values: UniqueValues, given: list[Any], call: Call) -> UniqueValues:
    key = argument(given, 0)
    values.entries[key_of(key)] = (key, argument(given, 1))
    return values


def _delete(values: UniqueValues, given: list[Any], call: Call) -> bool:
    return values.entries.pop(key_of(argument(given, 0)), None) is not None


def _for_each_entry(values: UniqueValues, given: list[Any], call: Call) -> Any:
    for key, item in list(values.entries.values()):
        call(argument(given, 0), [item if values.is_map else key, key, values])
    return UNDEFINED


NUMBER_METHODS: Mapping[str, Method] = {
    "toFixed": _fixed,
    "toString": lambda number, given, call: to_text(number),
    "valueOf": lambda number, given, call: number,
}
UNIQUE_METHODS: Mapping[str, Method] = {
    "has": lambda values, given, call: key_of(argument(given, 0)) in values.entries,
    "get": lambda values, given, call: values.entries.get(key_of(argument(given, 0)), (None, UNDEFINED))[1],
    "add": _add,
    "set": _add,
    "delete": _delete,
    "forEach": _for_each_entry,
    "keys": lambda values, given, call: [key for key, _ in values.entries.values()],
    "values": lambda values, given, call: [item if values.is_map else key for key, item in values.entries.values()],
    "entries": lambda values, given, call: [[key, item] for key, item in values.entries.values()],
}
OBJECT_METHODS: Mapping[str, Method] = {
    "hasOwnProperty": lambda value, given, call: to_text(argument(given, 0)) in value,
    "toString": lambda value, given, call: to_text(value),
}
METHODS: tuple[tuple[type, Mapping[str, Method]], ...] = (
    (str, TEXT_METHODS),
    (list, LIST_METHODS),
    (bool, {name: NUMBER_METHODS[name] for name in ("toString", "valueOf")}),
    (float, NUMBER_METHODS),
    (Pattern, PATTERN_METHODS),
    (UniqueValues, UNIQUE_METHODS),
    (dict, OBJECT_METHODS),
)
METHOD_NAMES = frozenset(name for _, methods in METHODS for name in methods)


def property_of(value: Any, key: Any) -> Any:
    """Return a property of a value.

    Raises:
        ThrownError: The value is null or undefined.
    """
    if value is None or value is UNDEFINED:
        raise type_error(f"a property of {to_text(value)} is read: {to_text(key)}")
    name = to_text(key)
    if isinstance(value, dict):
        return value.get(name, UNDEFINED)
    if isinstance(value, (str, list)):
        if name == "length":
            return float(len(value))
        is_index = name.isdecimal() and name.isascii() and len(name) < 10
        return value[int(name)] if is_index and int(name) < len(value) else UNDEFINED
    if isinstance(value, UniqueValues) and name == "size":
        return float(len(value.entries))
    if isinstance(value, Pattern):
        return {"source": value.source, "flags": value.flags, "lastIndex": float(value.last)}.get(name, UNDEFINED)
    return UNDEFINED


def method_of(value: Any, name: str) -> Method | None:
    """Return a built-in method of a value; None if it has none of that name."""
    return next((methods.get(name) for kind, methods in METHODS if isinstance(value, kind)), None)
