"""Describe users' objects for fingerprints: by class or name, code and settings."""

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from evalmark.core.protocols import ChatModel
from evalmark.core.values.plain_data import MAX_DEPTH, fingerprint

from .module_context import module_context
from .source import parsed_source

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
MAX_OBJECT_DEPTH = 4
"""How deep the attributes of objects are described; plain data is described completely."""


def describe_object(thing: Any, depth: int = 0, *, docstrings: bool = True) -> Any:
    """Describe an object as plain data that is equal in every process and changes with every edit of its code.

    Functions are described by name, parsed source code and closure; objects with a `fingerprint` by that, chat models
    by their `identity`, others by class, source code and attributes. Constants, functions and classes that the code
    uses from its own module are included; other modules are not followed. Comments and formatting never count.
    Docstrings count unless `docstrings` is False, since agents and programs send them to a model.

    >>> describe_object(len)
    ['function', 'builtins:len', None, [[], [None, None]]]
    """
    if thing is None or isinstance(thing, (str, bool, int, float)):
        return thing
    if depth > MAX_OBJECT_DEPTH:
        return _data(thing)
    if isinstance(thing, Mapping):
        return {str(key): describe_object(item, depth + 1, docstrings=docstrings) for key, item in thing.items()}
    if isinstance(thing, (list, tuple, set, frozenset)):
        items = [describe_object(item, depth + 1, docstrings=docstrings) for item in thing]
        return items if isinstance(thing, (list, tuple)) else sorted(items, key=fingerprint)
    if isinstance(thing, functools.partial):
        return [
            "partial",
            *(
                describe_object(part, depth + 1, docstrings=docstrings)
                for part in (thing.func, thing.args, thing.keywords)
            ),
        ]
    if inspect.ismethod(thing):
        return [
            "method",
            _function(thing.__func__, depth, docstrings),
            describe_object(thing.__self__, depth + 1, docstrings=docstrings),
        ]
    if inspect.isroutine(thing) or inspect.isclass(thing):
        return _function(thing, depth, docstrings)
    return ["module", thing.__name__] if inspect.ismodule(thing) else _object(thing, depth, docstrings)


def _data(thing: Any, above: tuple[Any, ...] = ()) -> Any:
    """Describe nested mappings and lists completely (a schema, say), and other objects by their class."""
    if thing is None or isinstance(thing, (str, bool, int, float)):
        return thing
    if not isinstance(thing, (Mapping, list, tuple)) or len(above) >= MAX_DEPTH or any(thing is it for it in above):
        return _name(type(thing))
    above = (*above, thing)
    if isinstance(thing, Mapping):
        return {str(key): _data(item, above) for key, item in thing.items()}
    return [_data(item, above) for item in thing]


def _function(thing: Any, depth: int, docstrings: bool) -> Any:
    cells = [cell.cell_contents for cell in getattr(thing, "__closure__", None) or () if _is_filled(cell)]
    defaults = [getattr(thing, "__defaults__", None), getattr(thing, "__kwdefaults__", None)]
    held = describe_object([cells, defaults], depth + 1, docstrings=docstrings)
    found = ["function", _name(thing), _source(thing, docstrings), held]
    named = module_context(thing, docstrings=docstrings)
    return [*found, named] if named else found


def _object(thing: Any, depth: int, docstrings: bool) -> Any:
    own = getattr(thing, "fingerprint", None)
    if isinstance(own, str):  # an embedder, say
        return ["fingerprint", own]
    if isinstance(thing, ChatModel):
        return ["identity", thing.identity]
    kind: Any = type(thing)
    if dataclasses.is_dataclass(thing):
        held: Any = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing) if field.init}
    elif kind.__repr__ is object.__repr__:
        held = getattr(thing, "__dict__", {})
    else:  # its repr is enough: the attributes of a logger or a model would lead to half the program
        held = _repr_without_addresses(thing)
    found = ["object", _name(kind), _source(kind, docstrings), describe_object(held, depth, docstrings=docstrings)]
    named = module_context(kind, docstrings=docstrings)
    return [*found, named] if named else found


def _repr_without_addresses(thing: Any) -> str:
    """Return the repr of an object without memory addresses; empty if it fails."""
    try:
        return _ADDRESS.sub("", repr(thing))
    except Exception:  # noqa: BLE001  foreign code: users' classes define their repr
        return ""


def _name(thing: Any) -> str:
    module = getattr(thing, "__module__", None) or ""
    return f"{module}:{getattr(thing, '__qualname__', type(thing).__qualname__)}"


def _source(thing: Callable[..., Any], docstrings: bool) -> str | None:
    """Hash the source code, or the compiled code if there is no file; None if there is neither."""
    kind: Any = thing
    return _class_source(kind, docstrings) if inspect.isclass(thing) else _read_source(thing, docstrings)


@functools.lru_cache(maxsize=256)
def _class_source(kind: Callable[..., Any], docstrings: bool) -> str | None:
    # Cached, since Python parses the whole file to find a class.
    return _read_source(kind, docstrings)


def _read_source(thing: Callable[..., Any], docstrings: bool) -> str | None:
    try:
        return fingerprint(parsed_source(thing, docstrings=docstrings))
    except (OSError, TypeError, SyntaxError):
        code = getattr(thing, "__code__", None)
        return fingerprint(_compiled(code)) if isinstance(code, CodeType) else None


def _compiled(code: CodeType) -> Any:
    return [code.co_code.hex(), code.co_names, [_constant(value) for value in code.co_consts]]


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):  # a function inside the function
        return _compiled(value)
    return value if value is None or isinstance(value, (str, bytes, bool, int, float)) else describe_object(value)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
