"""Constructors, functions and constants that JavaScript has everywhere."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from .list_methods import mapped_items, sign_of
from .sequence_methods import MAX_ITEMS, Call, argument
from .text_methods import new_pattern
from .values import (
    SPACES,
    UNDEFINED,
    LimitError,
    UniqueValues,
    items_of,
    json_text,
    key_of,
    keys_of,
    parse_json,
    to_integer,
    to_number,
    to_text,
    truthy,
    type_error,
)


def _new_unique(is_map: bool, given: list[Any]) -> UniqueValues:
    first = argument(given, 0)
    values = UniqueValues(is_map)
    for item in items_of(first) if first is not UNDEFINED and first is not None else []:
        pair = item if is_map else [item, item]
        values.entries[key_of(pair[0])] = (pair[0], pair[1])
    return values


def _error(name: str) -> Callable[[list[Any]], Any]:
    def make(given: list[Any]) -> dict[str, Any]:
        message = argument(given, 0)
        return {"name": name, "message": "" if message is UNDEFINED else to_text(message)}

    return make


CONSTRUCTORS: Mapping[str, Callable[[list[Any]], Any]] = {
    "Set": lambda given: _new_unique(False, given),
    "Map": lambda given: _new_unique(True, given),
    "RegExp": new_pattern,
    **{name: _error(name) for name in ("Error", "TypeError", "RangeError", "SyntaxError")},
}


def _parse_int(given: list[Any]) -> float:
    base = to_integer(argument(given, 1)) or 10
    text = to_text(argument(given, 0)).strip(SPACES)
    if base == 16 or (argument(given, 1) is UNDEFINED and re.match(r"[+-]?0[xX]", text)):
        text, base = re.sub(r"^([+-]?)0[xX]", r"\1", text), 16
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"[: base if 2 <= base <= 36 else 0]
    match = re.match(f"[+-]?[{digits}]+", text, re.IGNORECASE) if digits else None
    return float(int(match[0], base)) if match else math.nan


def _parse_float(given: list[Any]) -> float:
    text = to_text(argument(given, 0)).strip(SPACES)
    match = re.match(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", text)
    return to_number(match[0]) if match else math.nan


def _entries(given: list[Any]) -> list[Any]:
    value = argument(given, 0)
    if isinstance(value, dict):
        return [[key, value[key]] for key in keys_of(value)]
    if isinstance(value, (list, str)):
        return [[str(at), item] for at, item in enumerate(value)]
    if value is None or value is UNDEFINED:
        raise type_error("null or undefined is not an object")
    return []


def _from(given: list[Any], call: Call) -> list[Any]:
    value, function = argument(given, 0), argument(given, 1)
    if isinstance(value, dict):
        count = to_integer(value.get("length", 0.0))
        if count > MAX_ITEMS:
            raise LimitError("a list grows too long")
        items: list[Any] = [UNDEFINED] * max(0, count)
    else:
        items = items_of(value)
    return items if function is UNDEFINED else mapped_items(items, [function], call)


def _stringify(given: list[Any]) -> Any:
    value, chosen, space = (argument(given, at) for at in range(3))
    if chosen is not None and chosen is not UNDEFINED:
        raise LimitError("JSON.stringify with a second argument is not supported")
    indent = " " * min(10, max(0, int(space))) if isinstance(space, float) else space if isinstance(space, str) else ""
    return json_text(value, indent[:10])


def _round(number: float) -> float:
    return float(math.floor(number + 0.5)) if math.isfinite(number) and abs(number) < 2**52 else number


def _of_number(function: Callable[[float], float]) -> Callable[[list[Any]], float]:
    def compute(given: list[Any]) -> float:
        number = to_number(argument(given, 0))
        try:
            return float(function(number)) if math.isfinite(number) else number
        except (ValueError, OverflowError):
            return math.nan

    return compute


def _logarithm(function: Callable[[float], float]) -> Callable[[list[Any]], float]:
    def compute(given: list[Any]) -> float:
        number = to_number(argument(given, 0))
        if number == 0:
            return -math.inf
        return function(number) if number > 0 else math.nan

    return compute


def _extreme(choose: Callable[[list[float]], float], empty: float) -> Callable[[list[Any]], float]:
    def compute(given: list[Any]) -> float:
        numbers = list(map(to_number, given))
        return math.nan if any(map(math.isnan, numbers)) else choose(numbers) if numbers else empty

    return compute


def power(base: float, exponent: float) -> float:
    """Compute `base ** exponent` as JavaScript does."""
    try:
        result = base**exponent
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.inf
    return math.nan if isinstance(result, complex) else float(result)


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value == int(value)


def _assign(given: list[Any]) -> Any:
    target = argument(given, 0)
    if not isinstance(target, dict):
        raise type_error("Object.assign needs an object")
    for source in given[1:]:
        target.update(source if isinstance(source, dict) else {})
    return target


def _from_codes(given: list[Any]) -> str:
    return "".join(chr(to_integer(code) & 0xFFFF) for code in given)


MEMBERS: Mapping[str, Mapping[str, Callable[[list[Any], Call], Any]]] = {
    "JSON": {
        "parse": lambda given, call: parse_json(to_text(argument(given, 0))),
        "stringify": lambda given, call: _stringify(given),
    },
    "Object": {
        "keys": lambda given, call: [key for key, _ in _entries(given)],
        "values": lambda given, call: [item for _, item in _entries(given)],
        "entries": lambda given, call: _entries(given),
        "fromEntries": lambda given, call: {to_text(pair[0]): pair[1] for pair in items_of(argument(given, 0))},
        "assign": lambda given, call: _assign(given),
    },
    "Array": {
        "isArray": lambda given, call: isinstance(argument(given, 0), list),
        "from": _from,
        "of": lambda given, call: given,
    },
    "Number": {
        "isInteger": lambda given, call: _is_whole(argument(given, 0)),
        "isFinite": lambda given, call: isinstance(argument(given, 0), float) and math.isfinite(given[0]),
        "isNaN": lambda given, call: isinstance(argument(given, 0), float) and math.isnan(given[0]),
        "parseFloat": lambda given, call: _parse_float(given),
        "parseInt": lambda given, call: _parse_int(given),
    },
    "String": {"fromCharCode": lambda given, call: _from_codes(given)},
    "console": dict.fromkeys(("log", "warn", "error", "info", "debug"), lambda given, call: UNDEFINED),
    "Math": {
        name: (lambda given, call, compute=compute: compute(given))  # type: ignore[misc]
        for name, compute in {
            "abs": _of_number(abs),
            "floor": _of_number(math.floor),
            "ceil": _of_number(math.ceil),
            "trunc": _of_number(math.trunc),
            "round": _of_number(_round),
            "sqrt": _of_number(math.sqrt),
            "exp": _of_number(math.exp),
            "sign": _of_number(sign_of),
            "log": _logarithm(math.log),
            "log10": _logarithm(math.log10),
            "log2": _logarithm(math.log2),
            "max": _extreme(max, -math.inf),
            "min": _extreme(min, math.inf),
            "pow": lambda given: power(to_number(argument(given, 0)), to_number(argument(given, 1))),
        }.items()
    },
}
CONSTANTS: Mapping[str, Mapping[str, Any]] = {
    "Math": {"PI": math.pi, "E": math.e},
    "Number": {"MAX_SAFE_INTEGER": float(2**53 - 1), "EPSILON": 2.0**-52},
}
FUNCTIONS: Mapping[str, Callable[[list[Any]], Any]] = {
    "String": lambda given: to_text(given[0]) if given else "",
    "Number": lambda given: to_number(given[0]) if given else 0.0,
    "Boolean": lambda given: truthy(argument(given, 0)),
    "parseInt": _parse_int,
    "parseFloat": _parse_float,
    "isNaN": lambda given: math.isnan(to_number(argument(given, 0))),
    "isFinite": lambda given: math.isfinite(to_number(argument(given, 0))),
    **{name: CONSTRUCTORS[name] for name in ("RegExp", "Error", "TypeError", "RangeError", "SyntaxError")},
}
VALUES: Mapping[str, Any] = {"undefined": UNDEFINED, "NaN": math.nan, "Infinity": math.inf}
GLOBALS = frozenset((*MEMBERS, *FUNCTIONS, *VALUES, *CONSTRUCTORS))
