"""Maps a test row to the inputs of its prompt."""

from collections.abc import Mapping
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.prompts.templates.prompt import Prompt
from evalmark.prompts.templates.rendering import render
from evalmark.scoring.binding.text import preview

_PARSED = ("array", "object", "thread")
"""Types of inputs whose texts are parsed as JSON."""


class InvalidRowError(ValueError):
    """What is wrong with a row: a sentence without its full stop."""


def input_values(
    prompt: Prompt, value_of_all: Any, columns: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of a prompt's inputs; `value_of_all` holds all of them, `columns` each one separately.

    A scenario's parameters have priority. A text is the value of the only input without a default; with several such inputs
    it must be a JSON object.

    Raises:
        InvalidRowError: There is no value, or the prompt cannot take one of them.
    """
    open_ones = [variable.name for variable in prompt.inputs if variable.required and variable.name not in parameters]
    found = dict(columns) if value_of_all is None else _split_value(prompt, value_of_all, open_ones)
    if prompt.inputs and not any(map(_is_not_blank, found.values())) and (open_ones or not parameters):
        raise InvalidRowError(f"the test has no input; set {_name_list(open_ones or _names(prompt))}")
    types = {variable.name: variable.type for variable in prompt.inputs}
    typed = {name: _parse_json_value(name, value, types[name] in _PARSED) for name, value in found.items()}
    values = {**typed, **parameters}
    try:
        render(prompt, values)
    except ConfigError as fault:
        raise InvalidRowError("; ".join(line.rstrip(".") for line in str(fault).splitlines())) from None
    return values


def _split_value(prompt: Prompt, value_of_all: Any, open_ones: list[str]) -> dict[str, Any]:
    names = _names(prompt)
    if not names:
        raise InvalidRowError("the prompt has no input for the test's value")
    data = _object_in(value_of_all)
    if data is not None and (data.keys() <= set(names) or len(open_ones) > 1 or isinstance(value_of_all, Mapping)):
        if strange := next((key for key in data if key not in names), None):
            raise InvalidRowError(f"{preview(strange)} is not an input of the prompt; it has {_name_list(names)}")
        return data
    if len(open_ones) > 1:
        raise InvalidRowError(
            f"the test is the text {preview(value_of_all)}, and the prompt takes {_name_list(open_ones)}; write a JSON object"
        )
    return {(open_ones or names)[0]: value_of_all}


def _object_in(value_of_all: Any) -> dict[str, Any] | None:
    """Return the object that a value is or that its JSON text holds; None if there is none."""
    if isinstance(value_of_all, str) and value_of_all.lstrip().startswith("{"):
        try:
            value_of_all = parse_json(value_of_all, "")
        except PlacedError:
            return None
    return dict(value_of_all) if isinstance(value_of_all, Mapping) and value_of_all else None


def _parse_json_value(name: str, value: Any, is_data: bool) -> Any:
    if not (is_data and isinstance(value, str)):
        return value
    try:
        return parse_json(value, "")
    except PlacedError as fault:
        raise InvalidRowError(
            f"{backticked(name)} is {preview(value)}, which is not JSON: {fault.message.rstrip('.')}"
        ) from None


def _is_not_blank(value: Any) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value is not None


def _names(prompt: Prompt) -> list[str]:
    return [variable.name for variable in prompt.inputs]


def _name_list(names: list[str]) -> str:
    return ", ".join(map(backticked, names))


def backticked(name: str) -> str:
    return f"`{name}`"
