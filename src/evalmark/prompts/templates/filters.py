"""The filters and tests of templates: pure functions on plain data."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.inputs.documents.text import MAX_ROW

MAX_PROMPT_CHARS = MAX_ROW
"""Characters of a rendered prompt, or of any intermediate text."""
TESTS = ("defined", "none", "undefined")


class FilterError(Exception):
    """A value has the wrong type for a filter, or the result would be too large."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter with its smallest and largest number of arguments."""

    apply: Callable[..., Any]
    arguments: tuple[int, int] = (0, 0)


def text_of(value: Any) -> str:
    """Return a value as prompt text: a text unchanged, other values as JSON.

    >>> text_of("a"), text_of(2), text_of(True), text_of(["a", 1.5])
    ('a', '2', 'true', '["a", 1.5]')
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def kind_of(value: Any) -> str:
    """Return what messages call the type of a value."""
    names = {str: "a text", bool: "a truth value", list: "a list", dict: "a mapping", type(None): "null"}
    return names.get(type(value), "a number" if type(value) in (int, float) else f"a {type(value).__name__}")


def _text(value: Any) -> str:
    if isinstance(value, (str, int, float)):
        return text_of(value)
    raise FilterError(f"takes a text, and this is {kind_of(value)}")


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise FilterError(f"takes a list, and this is {kind_of(value)}")


def _join(value: Any, between: Any = "") -> str:
    words = [text_of(item) for item in _list(value)]
    glue = _text(between)
    if sum(map(len, words)) + len(glue) * len(words) > MAX_PROMPT_CHARS:
        raise FilterError(f"would make a text of more than {MAX_PROMPT_CHARS:,} characters")
    return glue.join(words)


def _length(value: Any) -> int:
    if isinstance(value, (str, list, dict)):
        return len(value)
    raise FilterError(f"takes a text, a list or a mapping, and this is {kind_of(value)}")


def _end(value: Any, at: int) -> Any:
    found = _list(value)
    if not found:
        raise FilterError("got an empty list, which has no first or last item")
    return found[at]


def _items(value: Any) -> list[list[Any]]:
    if isinstance(value, Mapping):
        return [[key, item] for key, item in value.items()]
    raise FilterError(f"takes a mapping, and this is {kind_of(value)}")


FILTERS = {
    "upper": Filter(lambda value: _text(value).upper()),
    "lower": Filter(lambda value: _text(value).lower()),
    "capitalize": Filter(lambda value: _text(value).capitalize()),
    "trim": Filter(lambda value: _text(value).strip()),
    "join": Filter(_join, (0, 1)),
    "length": Filter(_length),
    "first": Filter(lambda value: _end(value, 0)),
    "last": Filter(lambda value: _end(value, -1)),
    "items": Filter(_items),
    "tojson": Filter(lambda value: json.dumps(value, ensure_ascii=False)),
    "default": Filter(lambda value: value, (0, 2)),
}
"""The filters by name; `interpreter` implements `default`, since it evaluates its argument only if needed."""
