"""Strict JSON: data that cannot be stored or compared exactly is refused with its place."""

import json
import math
from typing import Any

from evalmark.core.values.plain_data import MAX_DEPTH

from .errors import PlacedError
from .json_walk import first_json_fault
from .text import excerpt_at


class RefusedJsonError(ValueError):
    """The text is valid JSON but has a duplicate key, NaN, a number that is too large, or too deep nesting."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RefusedJsonError
    return found


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise RefusedJsonError
    return number


def _constant(text: str) -> Any:
    raise RefusedJsonError


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)


def decode_at(text: str, at: int) -> tuple[Any, int]:
    """Decode the JSON value that starts at `at`, and return it with the offset of its end.

    Raises:
        JSONDecodeError: the text is not valid JSON.
        RefusedJsonError: the value is valid but refused.
    """
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError):  # ValueError: also whole numbers with too many digits
        raise RefusedJsonError from None
    if text.count("[", at, end) + text.count("{", at, end) > MAX_DEPTH and deeper_than(value, MAX_DEPTH):
        raise RefusedJsonError
    return value, end


def deeper_than(value: Any, levels: int) -> bool:
    """Tell whether lists and objects are nested deeper than `levels`.

    >>> deeper_than([[1]], 2), deeper_than([[[]]], 2)
    (False, True)
    """
    layer = [value]
    for _ in range(levels + 1):
        layer = [x for x in layer if isinstance(x, (dict, list))]
        if not layer:
            return False
        layer = [item for x in layer for item in (x.values() if isinstance(x, dict) else x)]
    return True


def parse_json(text: str, place: str, line: int = 1) -> Any:
    """Parse a JSON text whose first line is `line` of `place`.

    In addition to invalid JSON, these are refused: duplicate keys in an object, NaN and Infinity, numbers that are too large,
    and more than 100 levels of nesting. Lone surrogates are kept.

    >>> parse_json('{"a": 1e2}', "x.json")
    {'a': 100.0}

    Raises:
        DataError: with file, line and column.
    """
    start = _after_space(text, 0)
    try:
        value, end = decode_at(text, start)
    except json.JSONDecodeError as error:
        raise syntax_fault(text, error, place, line) from None
    except RefusedJsonError:
        raise refused_fault(text, start, place, line) from None
    if (rest := _after_space(text, end)) < len(text):
        raise PlacedError(
            location(text, rest, place, line), f"more text after the end of the JSON value{excerpt_at(text, rest)}."
        )
    return value


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at


def location(text: str, at: int, place: str, line: int = 1, column: int = 0) -> str:
    """Return `file:line:column` of an offset in a text that starts at `line`, after `column` characters."""
    above = text.count("\n", 0, at)
    before = text.rfind("\n", 0, at)
    return f"{place}:{line + above}:{at - before if above else column + at + 1}"


def syntax_fault(text: str, error: json.JSONDecodeError, place: str, line: int = 1, column: int = 0) -> PlacedError:
    """Convert an error of `json` to a fault with its place in the file."""
    where = location(text, error.pos, place, line, column)
    if not text[error.pos :].strip():
        return PlacedError(where, "not valid JSON: the text ends too early.")
    reason = (error.msg[0].lower() + error.msg[1:]).removesuffix(" starting at")
    return PlacedError(where, f"not valid JSON: {reason}{excerpt_at(text, error.pos)}.")


def refused_fault(text: str, at: int, place: str, line: int = 1, column: int = 0) -> PlacedError:
    """Return the fault of the refused value at `at`, with its place in the file."""
    found = first_json_fault(text, at)
    if found is None:
        return PlacedError(
            location(text, at, place, line, column), "nested too deep, or with a number too large, to be read."
        )
    earlier = (
        "" if found.earlier is None else f"; the first one is in line {line + text.count(chr(10), 0, found.earlier)}"
    )
    return PlacedError(location(text, found.offset, place, line, column), f"{found.message}{earlier}.")
