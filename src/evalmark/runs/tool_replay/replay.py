"""`replayed`: a tool that is not called for what it has given already, while an agent is under test."""

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from evalmark.core.context.trial_context import current_tools
from evalmark.core.errors import ConfigError

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
    """A tool whose calls are recorded while evalmark runs, and used again by later runs; elsewhere the tool itself.

    A call is found again by the tool's `name`, by its `version` (another one is recorded anew), by its arguments and by
    the input of the case. `key` gets the arguments by name and says what of them counts. `sanitize` gets a dict of
    `tool`, `version`, `arguments`, `input` and `result`, and returns what of it may be kept; that is also what the agent
    goes on with. What a tool raises is never recorded.

    >>> @replayed(version="1")
    ... def search(query: str) -> list[str]:
    ...     return [f"All about {query}"]
    >>> search("tea")
    ['All about tea']

    Raises:
        ConfigError: it is no function that gives one result, or an option cannot be used.
    """
    if function is not None and not callable(function):
        raise ConfigError(f"@replayed stands above a {type(function).__name__}; put it above a function.")
    _check_options(name, version, key, sanitize)

    def decorate(tool: Callable[..., Any]) -> Callable[..., Any]:
        return _wrapped(tool, _described(tool, name, version, key, sanitize))

    return decorate if function is None else decorate(function)


def _check_options(name: str, version: str, key: Key | None, sanitize: Sanitize | None) -> None:
    faults = [
        f"@replayed: {option}={value!r} is no text; put it in quotes."
        for option, value in (("name", name), ("version", version))
        if not isinstance(value, str)
    ]
    faults += [
        f"@replayed: {option}={value!r} is no plain function; give one with a single parameter, without `async`."
        for option, value in (("key", key), ("sanitize", sanitize))
        if value is not None and (not callable(value) or inspect.iscoroutinefunction(value))
    ]
    if faults:
        raise ConfigError.of(faults)


def _described(
    function: Callable[..., Any], name: str, version: str, key: Key | None, sanitize: Sanitize | None
) -> Tool:
    """The tool that a function is.

    Raises:
        ConfigError: it is none that can be recorded.
    """
    called = name or getattr(function, "__name__", "")
    if isinstance(function, (staticmethod, classmethod)):
        raise ConfigError(f"@replayed stands above @{type(function).__name__} of {called}(); put it below.")
    if inspect.isclass(function) or not callable(function):
        raise ConfigError(f"@replayed stands above {function!r}; put it above a function.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(
            f"@replayed: {called}() yields its results one by one, and only a function that returns one can be recorded; "
            "return a list."
        )
    if not called:
        raise ConfigError(f"@replayed: {function!r} has no name; give it one with @replayed(name=…).")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise ConfigError(
            f"@replayed: the parameters of {called}() cannot be told; put it above a function of your own that calls it."
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
    """The first parameter of a function that stands in a class, by the name that everybody gives it."""
    first = next(iter(signature.parameters), None)
    within = getattr(function, "__qualname__", "").rpartition(".")[0]
    return first if first in ("self", "cls") and within and not within.endswith("<locals>") else None


def _wrapped(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    is_async = any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004
    return (_asynchronous if is_async else _synchronous)(function, tool)


def _synchronous(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        tools = current_tools()
        if tools is None or tools.replay.mode == "off":
            return function(*args, **kwargs)
        asked = request_in_trial(tool, args, kwargs, tools)
        if (found := find_recording(tools, asked)) is not None:
            return found.result
        with counting_failures(tools):
            result = function(*args, **kwargs)
        return keep_recording(tools, asked, result).result

    return wrapper


def _asynchronous(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        tools = current_tools()
        if tools is None or tools.replay.mode == "off":
            return await function(*args, **kwargs)
        asked = request_in_trial(tool, args, kwargs, tools)
        if (found := find_recording(tools, asked)) is not None:
            return found.result
        with counting_failures(tools):
            result = await function(*args, **kwargs)
        # In a thread: the disk may take its time, and the loop has others to serve.
        return (await asyncio.to_thread(keep_recording, tools, asked, result)).result

    return wrapper
