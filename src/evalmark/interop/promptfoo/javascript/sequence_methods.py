"""Methods that JavaScript's strings and arrays share, and the arguments of all methods."""

from collections.abc import Callable
from typing import Any

from .values import (
    UNDEFINED,
    LimitError,
    Pattern,
    limited,
    same_value,
    strictly_equal,
    to_integer,
    to_text,
    type_error,
)

Call = Callable[[Any, list[Any]], Any]
"""Calls a function of the program with arguments."""
Method = Callable[[Any, list[Any], Call], Any]
"""Computes a method from its object and its arguments; it calls functions of the program with `Call`."""
MAX_ITEMS = 200_000


def argument(given: list[Any], at: int) -> Any:
    """Return an argument; `undefined` if it is not given."""
    return given[at] if at < len(given) else UNDEFINED


def index_within(value: Any, length: int, default: int) -> int:
    """Return an index from 0 to the length; a negative one counts from the end."""
    index = to_integer(value, default)
    return max(0, index + length) if index < 0 else min(index, length)


def slice_of(text: Any, given: list[Any], call: Call) -> Any:
    return text[index_within(argument(given, 0), len(text), 0) : index_within(argument(given, 1), len(text), len(text))]


def has_item(whole: Any, given: list[Any], call: Call) -> bool:
    searched = argument(given, 0)
    if isinstance(whole, list):
        return any(same_value(item, searched) for item in whole[index_within(argument(given, 1), len(whole), 0) :])
    return plain_text(searched) in whole[max(0, to_integer(argument(given, 1))) :]


def plain_text(value: Any) -> str:
    if isinstance(value, Pattern):
        raise type_error("a pattern is given instead of a text")
    return to_text(value)


def first_index(whole: Any, given: list[Any], call: Call) -> float:
    searched = argument(given, 0)
    if isinstance(whole, list):
        start = index_within(argument(given, 1), len(whole), 0)
        return float(next((at for at in range(start, len(whole)) if strictly_equal(whole[at], searched)), -1))
    return float(whole.find(to_text(searched), max(0, min(len(whole), to_integer(argument(given, 1))))))


def last_index(whole: Any, given: list[Any], call: Call) -> float:
    searched = argument(given, 0)
    if isinstance(whole, list):
        return float(next((at for at in range(len(whole) - 1, -1, -1) if strictly_equal(whole[at], searched)), -1))
    return float(whole.rfind(to_text(searched)))


def limited_items(items: list[Any]) -> list[Any]:
    if len(items) > MAX_ITEMS:
        raise LimitError(f"a list has more than {MAX_ITEMS:,} items")
    return items


def item_at(whole: Any, given: list[Any], call: Call) -> Any:
    at = to_integer(argument(given, 0))
    return whole[at] if -len(whole) <= at < len(whole) else UNDEFINED


def concatenated(whole: Any, given: list[Any], call: Call) -> Any:
    if isinstance(whole, str):
        return limited(whole + "".join(map(to_text, given)))
    return limited_items(whole + [one for item in given for one in (item if isinstance(item, list) else [item])])
