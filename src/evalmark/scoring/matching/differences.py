"""Describes the first difference between expected and found data."""

from typing import Any

from evalmark.core.values.plain_data import plain
from evalmark.scoring.binding.text import preview, preview_pair

from .equality import ABSENT, Comparator, Fuzzy, field_matches, is_pattern, is_rule, strict_equal


def describe_difference(same: Comparator, expected: Any, found: Any, path: str = "") -> str:
    """Describe where two values differ, what was expected there and what was found.

    >>> describe_difference(strict_equal, {"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}})
    'a.b[1]: expected 2, found 3'
    """
    if isinstance(same, Fuzzy) or same is strict_equal:
        for inner, item, there in _first_difference(same, expected, found):
            return describe_difference(
                same, item, there, f"{path}.{inner}" if path and not inner.startswith("[") else f"{path}{inner}"
            )
    texts = isinstance(expected, str) and isinstance(found, str)
    shown = preview_pair(expected, found) if texts else (describe_value(expected), describe_value(found))
    lead = f"{path}: " if path else ""
    return f"{lead}expected {shown[0]}, " + ("but it is missing" if found is ABSENT else f"found {shown[1]}")


def _first_difference(same: Comparator, expected: Any, found: Any) -> list[tuple[str, Any, Any]]:
    """Return the first part in which two values differ, with its name; empty if they differ as a whole."""
    pairs: list[tuple[str, Any, Any]] = []
    in_order = not (isinstance(same, Fuzzy) and same.any_order)
    if isinstance(expected, dict) and isinstance(found, dict):
        pairs = [(key, item, found.get(key, ABSENT)) for key, item in expected.items()]
        pairs = [step for step in pairs if not field_matches(same, step[1], found, step[0])]
        if same is strict_equal:
            pairs += [(key, ABSENT, item) for key, item in found.items() if key not in expected]
    elif in_order and isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = [(f"[{i}]", e, f) for i, (e, f) in enumerate(zip(expected, found, strict=True)) if not same(e, f)]
    return pairs[:1]


def describe_value(value: Any) -> str:
    """Describe an expected or found value for a reason."""
    if value is None:
        return "null"
    if value is ABSENT:
        return "no such field"
    if is_pattern(value):
        return f"a text with {preview(str(value.pattern))} in it"
    return _rule_name(value) if is_rule(value) else preview(describe_data(value))


def describe_data(value: Any) -> Any:
    """Return data as plain data, with descriptions in place of rules and `ABSENT`."""
    if isinstance(value, dict):
        return {key: describe_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [describe_data(item) for item in value]
    return describe_value(value) if value is ABSENT or is_rule(value) else plain(value)


def _rule_name(rule: Any) -> str:
    name = getattr(rule, "__name__", type(rule).__name__)
    return "what a function accepts" if name == "<lambda>" else f"what {name} accepts"
