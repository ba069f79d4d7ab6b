"""Calls a tested function with the inputs of a case, and reads its output."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import signature_of
from evalmark.core.sync import run_sync
from evalmark.core.values.case import Output
from evalmark.runs.targets.output import as_output, join_chunks, resolve_result

_NEEDS_MEMORY = "Missing some input keys"
HINT = (
    "The chain expects an input from its memory: give it the memory of the test, "
    "test.langchain.get_test_memory(memory_key=…)."
)


def bound_call(function: Any, inputs: Any, *, is_async: bool = False) -> Callable[[], Any]:
    """Return the call of a function: with the inputs as one argument, or by name.

    Inputs are passed by name if they are a mapping and the function has several parameters, all among their names, or only
    keyword parameters. Of an object, the method `invoke` is called (a runnable of LangChain), or else `run`.

    Raises:
        ConfigError: it cannot be called at all, or not with these inputs.
    """
    called, method = _method(function, is_async=is_async)
    if isinstance(inputs, Mapping) and not method and _by_name(called, inputs):
        return lambda: called(**inputs)
    return lambda: called(inputs)


def _method(function: Any, *, is_async: bool) -> tuple[Callable[..., Any], bool]:
    """Return the method to call, and whether it takes the inputs as one argument."""
    names = ("ainvoke", "invoke") if is_async else ("invoke", "ainvoke")
    # Looked up on the class, since mocks and proxies have any attribute.
    for name in (*names, *(() if callable(function) else ("run",))):
        if not inspect.isclass(function) and callable(getattr(type(function), name, None)):
            return getattr(function, name), True
    if callable(function):
        return function, False
    raise ConfigError(
        f"evaluate() takes a function or a chain; found {function!r:.100}. For an existing result, call "
        "evaluate_result(result)."
    )


def _by_name(function: Callable[..., Any], inputs: Mapping[str, Any]) -> bool:
    """Return whether the inputs are passed by name.

    Raises:
        ConfigError: the function cannot take them.
    """
    try:
        parameters = [p for p in signature_of(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    except (TypeError, ValueError):  # functions of C without a signature
        return False
    by_position = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if by_position and len(parameters) == 1:
        return False
    fault = _fault(function, inputs)
    if fault and (not by_position or _required(parameters, by_position[0].name)):
        raise ConfigError(
            f"the tested function {fault}, and the inputs of the case are {', '.join(map(repr, inputs)) or 'empty'}; let it "
            "take the inputs as one argument, or each of them by its name."
        )
    return not fault


def _fault(function: Callable[..., Any], inputs: Mapping[str, Any]) -> str:
    """Return why the inputs do not fit the parameters; empty where they do."""
    parameters = signature_of(function).parameters.values()
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    missing = sorted(_required(parameters) - inputs.keys())
    unknown = sorted(repr(name) for name in inputs if name not in named)
    if missing:
        return f"needs {missing[0]!r}"
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return f"does not take {unknown[0]}" if unknown and not takes_any else ""


def _required(parameters: Iterable[inspect.Parameter], besides: str = "") -> set[str]:
    """Return the required parameters, except for one."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {p.name for p in parameters if p.default is p.empty and p.kind not in variable and p.name != besides}


def wait_for(returned: Any) -> Any:
    """Return the value of an awaitable or a generator, outside of an event loop."""
    if inspect.isawaitable(returned) or inspect.isasyncgen(returned):
        return run_sync(resolve_result(returned))
    return join_chunks(returned) if inspect.isgenerator(returned) else returned


def output_of(function: Any, returned: Any, seconds: float | None, *, is_template: bool) -> Output:
    """Return what a function returned as an Output; of an object with `output_keys`, those alone.

    Raises:
        ConfigError: it is not a text, and the outputs of a prompt are texts.
    """
    keys = getattr(function, "output_keys", None)
    if isinstance(returned, Mapping) and isinstance(keys, (list, tuple, set, frozenset)):
        returned = {key: value for key, value in returned.items() if key in keys}
        if is_template and len(returned) == 1:
            (returned,) = returned.values()
    output = as_output(returned, seconds)
    if is_template and output.error is None and not isinstance(output.value, str):
        raise ConfigError(
            "the tested function has to return a text, since the test is about the outputs of a prompt "
            f"(for_prompt_template); found {output.value!r:.100}. Return the text alone."
        )
    return output


def add_hint(error: BaseException) -> None:
    """Add a note to an error of LangChain about missing inputs."""
    if _NEEDS_MEMORY in str(error):
        error.add_note(HINT)
