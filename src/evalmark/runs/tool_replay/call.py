"""One call of a tool: its key and its recording."""

import inspect
from collections.abc import Callable, Coroutine, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evalmark.core.errors import ToolError
from evalmark.core.values.plain_data import canonical, plain
from evalmark.core.values.tool import ToolRecording, tool_key
from evalmark.inputs.secrets.fields import mask_secret_fields

from .plain_values import NotPlainError, as_argument, as_result

Key = Callable[[Mapping[str, Any]], Any]
"""A function from the arguments by name to the part that identifies the call."""
Sanitize = Callable[[dict[str, Any]], Mapping[str, Any]]
"""A function from the record of a call to the record that is stored."""

_SHOWN = 120
"""The maximum number of characters of arguments in an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function whose calls are recorded."""

    name: str
    version: str
    home: str
    """The place of the function: `module:name`."""
    signature: inspect.Signature
    owner: str | None
    """The `self` or `cls` parameter of a method."""
    key: Key | None
    sanitize: Sanitize | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A requested call of a tool."""

    tool: Tool
    arguments: Mapping[str, Any]
    input: Any
    key: str


def tool_request(tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any], case_input: Any) -> ToolRequest:
    """Build the request of a tool call, for a case with this input.

    Raises:
        TypeError: the arguments do not fit the tool.
        ToolError: the arguments, or the result of `key`, are not plain data; or `key` fails.
    """
    try:
        bound = tool.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{tool.name}(): {error}") from None
    bound.apply_defaults()
    named = {name: value for name, value in bound.arguments.items() if name != tool.owner}
    if tool.key is None:
        identifying: Any = {name: _key_argument(tool, name, value) for name, value in named.items()}
        recorded = identifying
    else:
        identifying, recorded = (
            _own_key(tool, tool.key, bound.arguments),
            {n: _recorded_argument(value) for n, value in named.items()},
        )
    plain_input = plain(case_input)
    return ToolRequest(
        tool=tool,
        arguments=recorded,
        input=plain_input,
        key=tool_key(tool.name, tool.version, identifying, plain_input),
    )


def _key_argument(tool: Tool, name: str, value: Any) -> Any:
    try:
        return as_argument(value)
    except NotPlainError as fault:
        raise ToolError(
            f"{tool.name}: the argument {name!r} cannot identify the call: {fault}. Name the part that identifies it with "
            "@replayed(key=lambda arguments: …), which gets the arguments by name."
        ) from None


def _own_key(tool: Tool, key: Key, arguments: Mapping[str, Any]) -> Any:
    result = _call_user_function(tool, "key", key, dict(arguments))
    try:
        return as_argument(result)
    except NotPlainError as fault:
        raise ToolError(
            f"{tool.name}: the result of `key` cannot identify the call: {fault}. Return texts, numbers, "
            "lists or dicts."
        ) from None


def _recorded_argument(value: Any) -> Any:
    """Convert an argument for the record if `key` identifies the call."""
    try:
        return as_argument(value)
    except NotPlainError:
        return f"(of the type {type(value).__name__})"


def make_recording(request: ToolRequest, result: Any) -> ToolRecording:
    """Build the recording of a call.

    Raises:
        ToolError: the result is not plain data, or `sanitize` fails or returns no record.
    """
    tool = request.tool
    try:
        plain_result = as_result(result)
    except NotPlainError as fault:
        raise ToolError(f"{tool.name}: the result cannot be recorded: {fault}. {_advice(result)}") from None
    record = {"arguments": request.arguments, "input": request.input, "result": plain_result}
    if tool.sanitize is not None:
        record = _sanitize(tool, tool.sanitize, record)
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    return ToolRecording(key=request.key, tool=tool.name, version=tool.version, created=now, **record)


def _advice(result: Any) -> str:
    if isinstance(result, Coroutine):
        result.close()  # otherwise Python warns that it was never awaited
        return "Declare the tool with `async def`."
    return (
        "Return dicts, lists, texts, numbers, booleans or None, or put @replayed on the function inside it that does."
    )


def _sanitize(tool: Tool, sanitize: Sanitize, record: Mapping[str, Any]) -> dict[str, Any]:
    names = {"tool": tool.name, "version": tool.version}
    sanitized = _call_user_function(tool, "sanitize", sanitize, deepcopy({**names, **record}))
    if (
        not isinstance(sanitized, Mapping)
        or set(sanitized) != {*names, *record}
        or any(sanitized[n] != names[n] for n in names)
    ):
        raise ToolError(
            f"{tool.name}: nothing is recorded, since `sanitize` returned {_short(sanitized)}. Return the mapping that it gets; "
            "arguments, input and result may be changed."
        )
    return {name: _check_field(tool, name, sanitized[name]) for name in record}


def _check_field(tool: Tool, name: str, value: Any) -> Any:
    try:
        return as_result(value)
    except NotPlainError as fault:
        raise ToolError(
            f"{tool.name}: nothing is recorded, since `sanitize` returned an invalid {name}: {fault}. Use dicts, "
            "lists, texts, numbers, booleans or None."
        ) from None


def _call_user_function(tool: Tool, what: str, function: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return function(argument)
    except Exception as error:  # the user's own function
        raise ToolError(
            f"{tool.name}: nothing is recorded, since `{what}` raised {type(error).__name__}: {_short(error)}. Fix it, or "
            "leave it out."
        ) from error


def describe_request(request: ToolRequest) -> str:
    """The call as an error names it."""
    arguments = canonical(mask_secret_fields(dict(request.arguments)))
    return f"the arguments {_short(arguments)} and the input {_short(canonical(request.input))}"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
