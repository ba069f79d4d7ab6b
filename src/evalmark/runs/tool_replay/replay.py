"""The decorator `replayed`: record the calls of a tool while an agent is under test, and replay them later."""

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from evalmark.core.context.trial_context import current_tools
from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import signature_of
from evalmark.core.foreign.threads import is_async_callable

from .call import Key, Sanitize, Tool
from .trial_calls import counting_failures, find_recording, keep_recording, request_in_trial

P = ParamSpec("P")
R = TypeVar("R")


@overload
def replayed(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def replayed(
    *, name: str = "", version: str = "", key: Key | None = None, sanitize: Sanitize | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def replayed(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    version: str = "",
    key: Key | None = None,
    sanitize: Sanitize | None = None,
) -> Callable[..., Any]:
    """Record the calls of a tool in evalmark runs, and replay them in later runs.

    Outside of a run, the tool is called as usual. A recording is found by the tool's name and version, the arguments of
    the call and the input of the case. Errors of the tool are not recorded.

    Args:
        function: The tool: a plain or async function that returns one JSON-serializable result.
        name: The name of the tool in recordings; its own name by default.
        version: Change it when the behaviour of the tool changes: earlier recordings are then not used.
        key: A function from the arguments by name to the part that identifies the call; all arguments by default.
        sanitize: A function from a dict of `tool`, `version`, `arguments`, `input` and `result` to the dict that may be
            stored. The agent also gets the sanitized result.

    Returns:
        The wrapped tool, with the same signature.

    Raises:
        ConfigError: the object is not a function with one result, or an option is invalid.

    Example:
        >>> @replayed(version="1")
        ... def search(query: str) -> list[str]:
        ...     return [f"All about {query}"]
        >>> search("tea")
        ['All about tea']
    """
    if function is not None and not callable(function):
        raise ConfigError(f"@replayed decorates a {type(function).__name__}; use it on a function.")
    _check_options(name, version, key, sanitize)

    def decorate(tool: Callable[..., Any]) -> Callable[..., Any]:
        return _wrap(tool, _describe_tool(tool, name, version, key, sanitize))

    return decorate if function is None else decorate(function)


def _check_options(name: str, version: str, key: Key | None, sanitize: Sanitize | None) -> None:
    faults = [
        f"@replayed: {option}={value!r} is not a text; put it in quotes."
        for option, value in (("name", name), ("version", version))
        if not isinstance(value, str)
    ]
    faults += [
        f"@replayed: {option}={value!r} is not a plain function; pass one with a single parameter, without `async`."
        for option, value in (("key", key), ("sanitize", sanitize))
        if value is not None and (not callable(value) or inspect.iscoroutinefunction(value))
    ]
    if faults:
        raise ConfigError.of(faults)


def _describe_tool(
    function: Callable[..., Any], name: str, version: str, key: Key | None, sanitize: Sanitize | None
) -> Tool:
    """Describe a function as a tool.

    Raises:
        ConfigError: its calls cannot be recorded.
    """
    called = name or getattr(function, "__name__", "")
    if isinstance(function, (staticmethod, classmethod)):
        raise ConfigError(f"@replayed is above @{type(function).__name__} of {called}(); put it below.")
    if inspect.isclass(function) or not callable(function):
        raise ConfigError(f"@replayed decorates {function!r}; use it on a function.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(
            f"@replayed: {called}() is a generator, and only a function with one result can be recorded; return a list."
        )
    if not called:
        raise ConfigError(f"@replayed: {function!r} has no name; give it one with @replayed(name=…).")
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):
        raise ConfigError(
            f"@replayed: {called}() does not expose its parameters; decorate a function of your own that calls it."
        ) from None
    return Tool(
        name=called,
        version=version,
        home=f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', called)}",
        signature=signature,
        owner=_owner(function, signature),
        key=key,
        sanitize=sanitize,
    )


def _owner(function: Callable[..., Any], signature: inspect.Signature) -> str | None:
    """Return `self` or `cls` if it is the first parameter of a method."""
    first = next(iter(signature.parameters), None)
    within = getattr(function, "__qualname__", "").rpartition(".")[0]
    return first if first in ("self", "cls") and within and not within.endswith("<locals>") else None


def _wrap(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    return (_asynchronous if is_async_callable(function) else _synchronous)(function, tool)


def _synchronous(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        tools = current_tools()
        if tools is None or tools.replay.mode == "off":
            return function(*args, **kwargs)
        request = request_in_trial(tool, args, kwargs, tools)
        if (found := find_recording(tools, request)) is not None:
            return found.result
        with counting_failures(tools):
            result = function(*args, **kwargs)
        return keep_recording(tools, request, result).result

    return wrapper


def _asynchronous(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        tools = current_tools()
        if tools is None or tools.replay.mode == "off":
            return await function(*args, **kwargs)
        request = request_in_trial(tool, args, kwargs, tools)
        if (found := find_recording(tools, request)) is not None:
            return found.result
        with counting_failures(tools):
            result = await function(*args, **kwargs)
        # In a thread, since writing to disk would block the event loop.
        return (await asyncio.to_thread(keep_recording, tools, request, result)).result

    return wrapper
