"""The binary operators of JavaScript."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from .global_functions import power
from .methods import property_of
from .values import (
    UNDEFINED,
    UniqueValues,
    limited,
    loosely_equal,
    strictly_equal,
    to_number,
    to_text,
    type_error,
)


def compute_binary(sign: str, left: Any, right: Any) -> Any:
    """Compute an operator between two values."""
    if sign in ("===", "!=="):
        return strictly_equal(left, right) == (sign == "===")
    if sign in ("==", "!="):
        return loosely_equal(left, right) == (sign == "==")
    if sign == "+":
        return _plus(left, right)
    if sign in ("<", ">", "<=", ">="):
        return _compare(sign, left, right)
    if sign == "in":
        return _has_key(right, left)
    return _ARITHMETIC[sign](to_number(left), to_number(right))


def _plus(left: Any, right: Any) -> Any:
    plain = (float, bool, type(None), type(UNDEFINED))
    if isinstance(left, plain) and isinstance(right, plain):
        return to_number(left) + to_number(right)
    return limited(to_text(left) + to_text(right))


def _compare(sign: str, left: Any, right: Any) -> bool:
    if not (isinstance(left, str) and isinstance(right, str)):
        left, right = to_number(left), to_number(right)
    compared = {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}
    return bool(compared[sign])


def _has_key(whole: Any, key: Any) -> bool:
    if isinstance(whole, dict):
        return to_text(key) in whole
    if isinstance(whole, list):
        return property_of(whole, key) is not UNDEFINED or to_text(key) == "length"
    if isinstance(whole, UniqueValues):
        return False
    raise type_error("`in` needs an object")


def _divide(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _remainder(left: float, right: float) -> float:
    return math.nan if right == 0 or math.isinf(left) else math.fmod(left, right)


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _divide,
    "%": _remainder,
    "**": power,
}
