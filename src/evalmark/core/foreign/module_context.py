"""Find what code uses from its own module: constants such as prompts, and helper functions."""

import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from evalmark.core.values.plain_data import fingerprint

from .source import parsed_source

OWN_PREFIX = "evalmark."
PLAIN = (str, bytes, bool, int, float, type(None))
MAX_PARTS = 10_000
"""The most parts of a constant; a larger one is data and is not compared in detail."""


def module_context(thing: Any, *, docstrings: bool = True) -> dict[str, Any]:
    """Describe the constants, functions and classes of its module that a function or class uses, transitively.

    Constants are plain data, or lists, tuples, sets and mappings of plain data; everything else is left out.

    >>> module_context(len)
    {}
    """
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    if module is None or module.__name__.startswith(OWN_PREFIX) or not hasattr(module, "__file__"):
        return {}
    found: dict[str, Any] = {}
    waiting = [thing]
    while waiting:
        for name in _referenced_names(waiting.pop()):
            value = vars(module).get(name)
            if name in found or value is None or value is thing:
                continue
            if inspect.isfunction(value) or inspect.isclass(value):
                if getattr(value, "__module__", None) == module.__name__:
                    found[name] = _source_fingerprint(value, docstrings)
                    waiting.append(value)
            elif (data := _data(value, [MAX_PARTS])) is not None:
                found[name] = data
    return found


def _referenced_names(thing: Any) -> Iterator[str]:
    if inspect.isclass(thing):
        yield from (parent.__name__ for parent in thing.__bases__)
        for key, member in vars(thing).items():
            if (
                key == "__annotate_func__"
            ):  # from Python 3.14 on, a function makes the annotations; before, it was no member
                continue
            inner = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(inner, FunctionType):
                yield from _code_names(inner.__code__)
    elif isinstance(thing, FunctionType):
        yield from _code_names(inspect.unwrap(thing).__code__ if hasattr(thing, "__wrapped__") else thing.__code__)


def _code_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):  # a function inside the function
            yield from _code_names(constant)


def _source_fingerprint(thing: Any, docstrings: bool) -> str | None:
    try:
        return fingerprint(parsed_source(thing, docstrings=docstrings))
    except (OSError, TypeError, SyntaxError):
        return None


def _data(value: Any, left: list[int]) -> Any:
    """Convert a constant to data; None for anything else."""
    left[0] -= 1
    if left[0] < 0:
        return f"more than {MAX_PARTS} parts"
    if type(value) in PLAIN:
        return value if isinstance(value, (str, bool, int, float)) else repr(value)
    if type(value) in (list, tuple, set, frozenset):
        parts = [_data(part, left) for part in value]
        return (
            None if None in parts else sorted(parts, key=fingerprint) if isinstance(value, (set, frozenset)) else parts
        )
    if type(value) is dict:
        pairs = {str(key): _data(part, left) for key, part in value.items()}
        return None if None in pairs.values() else pairs
    return None
