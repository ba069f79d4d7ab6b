"""Reads the tool calls that a suite or a row expects, in the forms people write them in."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalmark.scoring.binding.text import preview
from evalmark.scoring.matching.equality import holds_nan, json_data
from evalmark.scoring.matching.json_text import parse_json_text

COLUMN = "expected_tools"
"""The column that names the expected tools."""
_COLUMNS = frozenset(("expectedtools", "expectedtoolcalls", "referencetoolcalls"))
_ARGUMENTS = ("arguments", "args", "input_parameters", "input")
_OTHERS = frozenset(("id", "type", "description", "reasoning", "result", "output", "error"))
"""Further keys that other tools write; they are ignored."""


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """One expected tool call."""

    name: str
    arguments: Any = None
    """The arguments as data; None allows any arguments."""


def expected_tools_in(metadata: Mapping[str, Any]) -> Any:
    """Return the expected tools from a case's metadata, or None; case, spaces, `-` and `_` in the key are ignored.

    >>> expected_tools_in({"expectedTools": ["search"]}), expected_tools_in({"level": 1})
    (['search'], None)
    """
    for key, value in metadata.items():
        if re.sub(r"[\s_\-]+", "", key.casefold()) in _COLUMNS and value is not None and value != "":
            return value
    return None


def expected_calls(value: Any) -> tuple[ExpectedCall, ...]:
    """Parse expected calls from a list of names and `{name, arguments}`, its JSON text, or names separated by commas.

    >>> expected_calls("search, book")[1].name, expected_calls('[{"name": "search", "args": {}}]')[0].arguments
    ('book', {})

    Raises:
        ValueError: The value has another form; the message says what was found.
    """
    if isinstance(value, str):
        is_json = value.lstrip().startswith(("[", "{"))
        value = parse_json_text(value) if is_json else [name.strip() for name in value.split(",")]
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, Sequence):
        raise ValueError(f"{preview(value)} is not a list of tools")  # noqa: TRY004  a wrong type in a row is a wrong value
    return tuple(_expected_call(item) for item in value)


def _expected_call(item: Any) -> ExpectedCall:
    if isinstance(item, str) and item:
        return ExpectedCall(item)
    call = item.get("function", item) if isinstance(item, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str) or not call["name"]:
        raise ValueError(f"{preview(item)} is not a tool; write its name, or {{name, arguments}}")
    if call is item:
        _check_keys(call)
    arguments = next((call[key] for key in _ARGUMENTS if key in call), None)
    arguments = json_data(parse_json_text(arguments) if isinstance(arguments, str) else arguments)
    if arguments is not None and not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {call['name']} are {preview(arguments)}, not a mapping")
    if holds_nan(arguments):
        raise ValueError(f"the arguments of {call['name']} hold NaN, which nothing equals")
    return ExpectedCall(call["name"], arguments)


def _check_keys(call: Mapping[str, Any]) -> None:
    for key in call:
        if key not in ("name", *_ARGUMENTS) and key not in _OTHERS:
            near = difflib.get_close_matches(str(key), ("arguments", "args"), n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(f"a tool is {{name, arguments}}, and {call['name']} has {key!r}{hint}")
