"""Compares expected with found data: strictly, fuzzily, or by a user's rule."""

import difflib
import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Final

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.threads import is_async_callable
from evalmark.core.lazy import need
from evalmark.core.values.plain_data import MAX_DEPTH, plain
from evalmark.scoring.binding.text import preview

from .json_text import NotJsonError
from .numbers import number_of
from .pairing import can_pair_all

Comparator = Callable[[Any, Any], Any]
"""A function of the expected and the found value that returns whether they match."""
PATTERN_SECONDS = 1.0
"""Time limit for one pattern on one text."""
MAX_PLAIN_SEARCH = 16
"""Lists up to this length are searched without an index."""


class Absent(Enum):
    """The class of the constant `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""In expected data: the field must be absent."""


def is_rule(value: Any) -> bool:
    """Return whether an expected value is a rule (a function or a pattern) and not data."""
    return is_pattern(value) or (callable(value) and not inspect.isclass(value))


def is_pattern(value: Any) -> bool:
    """Return whether it is a compiled pattern of `re` or `regex`."""
    return callable(getattr(value, "search", None)) and isinstance(getattr(value, "pattern", None), str)


def json_data(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON data, as `plain` does, but keep NaN, rules and `ABSENT`.

    Raises:
        NotJsonError: It is nested deeper than `MAX_DEPTH`.
    """
    if depth >= MAX_DEPTH:
        raise NotJsonError("it is nested too deeply")
    if value is ABSENT or is_rule(value):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): json_data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_data(item, depth + 1) for item in value]
    return plain(value)


def nested_values(data: Any) -> list[Any]:
    """Return the data and all values in it, at any depth."""
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [data, *(part for item in inner for part in nested_values(item))]


def holds_nan(data: Any) -> bool:
    """Return whether the data holds NaN, which equals nothing."""
    return any(isinstance(part, float) and math.isnan(part) for part in nested_values(data))


def field_matches(same: Comparator, expected_value: Any, found: Mapping[str, Any], key: str) -> bool:
    """Return whether a field has its expected value, or is missing as expected."""
    if expected_value is ABSENT:
        return key not in found
    return key in found and bool(same(expected_value, found[key]))


def strict_equal(expected: Any, found: Any) -> bool:
    """Return whether two values are equal at every level; 1 equals 1.0, true equals no number, NaN equals nothing.

    >>> strict_equal({"a": [1, 2]}, {"a": [1.0, 2]}), strict_equal([1, 2], [2, 1]), strict_equal(1, True)
    (True, False, False)
    """
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return False
        expected_value = {key: item for key, item in expected.items() if item is not ABSENT}
        return expected_value.keys() == found.keys() and all(
            strict_equal(item, found[key]) for key, item in expected_value.items()
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(expected) == len(found) and all(map(strict_equal, expected, found))
    if _is_number(expected):
        return _is_number(found) and bool(expected == found)
    return type(expected) is type(found) and bool(expected == found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuzzy:
    """Compare two values and ignore differences in form; additional fields and items are allowed.

    Args:
        ignore_case: Compare texts without regard to case.
        substring: One text may be part of the other; an empty text is part of none.
        any_order: List items may be in any order and among others; False compares them one by one, with equal lengths.
        tolerance: The allowed difference of numbers, absolute or as a share of the expected one; the larger counts.
        coerce: Convert texts of numbers and truth values: "42" equals 42, "true" and "1" equal true.

    >>> Fuzzy()({"tags": ["a", "b"], "price": 100}, {"tags": ["B", "x", "A"], "price": 99.95, "more": 1})
    True
    """

    ignore_case: bool = True
    substring: bool = False
    any_order: bool = True
    tolerance: float = 0.001
    coerce: bool = False

    def __call__(self, expected: Any, found: Any) -> bool:
        if is_rule(expected):
            return _matches_rule(expected, found)
        if isinstance(expected, dict):
            return isinstance(found, dict) and all(
                field_matches(self, item, found, key) for key, item in expected.items()
            )
        if isinstance(expected, list):
            return isinstance(found, list) and self._lists(expected, found)
        if self.coerce:
            expected, found = _same_kind(expected, found)
        if isinstance(expected, str) and isinstance(found, str):
            return self._texts(expected, found)
        return strict_equal(expected, found) or self._near(expected, found)

    def _lists(self, expected: list[Any], found: list[Any]) -> bool:
        if self.any_order:
            likely = _likely_partners(expected, found) if len(expected) > MAX_PLAIN_SEARCH else ()
            return can_pair_all(
                len(expected), len(found), lambda left, right: self(expected[left], found[right]), likely
            )
        return len(expected) == len(found) and all(map(self, expected, found))

    def _texts(self, expected: str, found: str) -> bool:
        if self.ignore_case:
            expected, found = expected.casefold(), found.casefold()
        part = self.substring and expected and found and (expected in found or found in expected)
        return expected == found or bool(part)

    def _near(self, expected: Any, found: Any) -> bool:
        if not (_is_number(expected) and _is_number(found)):
            return False
        try:
            off, size = math.fabs(expected - found), math.fabs(expected)
        except OverflowError:  # a whole number too long for a float
            return False
        return math.isfinite(size) and off <= max(size * self.tolerance, self.tolerance)


def _likely_partners(expected: list[Any], found: list[Any]) -> list[int]:
    """For each item return the index of one that looks the same, so that long lists need no full search."""
    places: dict[str, list[int]] = {}
    for place in reversed(range(len(found))):
        places.setdefault(repr(found[place]).casefold(), []).append(place)
    looks = (repr(item).casefold() for item in expected)
    return [places[look].pop() if places.get(look) else 0 for look in looks]


def fuzzy_options(settings: Fuzzy | Mapping[str, Any] | None, substring: bool, place: str) -> Fuzzy:
    """Return the options of a fuzzy match from a suite or from Python; `substring` is the scorer's default.

    Raises:
        ConfigError: An option is unknown or of the wrong type; `place` starts the message.
    """
    options = {"substring": substring, **settings} if isinstance(settings, Mapping) else {"substring": substring}
    known = [field.name for field in fields(Fuzzy)]
    for key in options:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ConfigError(f"{place}: `fuzzy` has no option {key!r}; it knows {', '.join(known)}.{hint}")
    fuzzy = settings if isinstance(settings, Fuzzy) else Fuzzy(**options)
    for key in known:
        value = getattr(fuzzy, key)
        if key == "tolerance" and not (_is_number(value) and 0 <= value < math.inf):
            raise ConfigError(f"{place}: the option `tolerance` is {value!r}; it has to be a number of at least 0.")
        if key != "tolerance" and not isinstance(value, bool):
            raise ConfigError(f"{place}: the option `{key}` is {value!r}; it has to be true or false.")
    return fuzzy


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _matches_rule(rule: Any, found: Any) -> bool:
    """Return whether a found value passes a function, or contains a match of a pattern.

    Raises:
        TimeoutError: The pattern exceeded its time limit.
    """
    if not is_pattern(rule):
        return bool(rule(found))
    if not isinstance(found, str):
        return False
    try:
        return _with_timeout(rule).search(found, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        raise TimeoutError(f"its pattern {rule.pattern!r} took longer than {PATTERN_SECONDS:g} s") from None


def _with_timeout(pattern: Any) -> Any:
    """Return the same pattern compiled by the package `regex`, which supports time limits."""
    if not isinstance(pattern, re.Pattern):
        return pattern
    module = need("regex")
    flags = sum(getattr(module, name) for name in "AIMSX" if pattern.flags & getattr(re, name))
    return module.compile(pattern.pattern, flags)


_TRUTHS: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}


def _same_kind(expected: Any, found: Any) -> tuple[Any, Any]:
    """Convert a text to the type of the other value, if it can be."""
    if isinstance(expected, str) and not isinstance(found, str):
        return _as_kind_of(found, expected), found
    return expected, _as_kind_of(expected, found)


def _as_kind_of(model: Any, value: Any) -> Any:
    if isinstance(model, bool):
        if isinstance(value, str):
            return _TRUTHS.get(value.strip().casefold(), value)
        return bool(value) if _is_number(value) and value in (0, 1) else value
    if _is_number(model) and isinstance(value, str):
        number = number_of(value)
        return value if number is None else number
    return value


def check_rule(rule: Any, setting: str, names: tuple[str, ...], place: str) -> None:
    """Raise an error unless the value is one of the names or a plain function.

    Raises:
        ConfigError: It is neither, or it is an async function.
    """
    if isinstance(rule, str) and rule in names:
        return
    if not callable(rule) or inspect.isclass(rule):
        some = ", ".join(repr(name) for name in names)
        raise ConfigError(f"{place}: `{setting}` is {preview(rule)}; it takes {some} or a function.")
    if is_async_callable(rule):
        raise ConfigError(f"{place}: `{setting}` is an async function; use a plain one.")


def check_data(expected: Any, *, rules: bool, setting: str, place: str) -> None:
    """Raise an error for rules in expected data that cannot be applied.

    Raises:
        ConfigError: There is a function or a pattern and `rules` is false, or a function is async.
    """
    for part in nested_values(expected):
        if is_rule(part) and not rules:
            raise ConfigError(f"{place}: `expected` holds a function or a pattern; set `{setting}: fuzzy` to use it.")
        if is_rule(part) and inspect.iscoroutinefunction(part):
            raise ConfigError(f"{place}: `expected` holds an async function; use a plain one.")
