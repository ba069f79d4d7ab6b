"""Who a target is: its name in reports, and a fingerprint that changes when its code does."""

import functools
import inspect
import re
from typing import Any

from evalmark.values import fingerprint

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def name_of(thing: Any) -> str:
    """`package.module:name` of a function or a class; of an object, its own `name` or that of its class.

    >>> import textwrap
    >>> name_of(textwrap.shorten)
    'textwrap:shorten'
    """
    while isinstance(thing, functools.partial):
        thing = thing.func
    own = getattr(thing, "name", None)
    if isinstance(own, str) and own:
        return own
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(named, "__module__", None) or "builtins"
    return f"{module}:{named.__qualname__}"


def identity(thing: Any, name: str) -> str:
    """The thing's own `fingerprint`, or one of its name, its source and its settings.

    What the source calls is not looked at.
    """
    own = getattr(thing, "fingerprint", None)
    return own if isinstance(own, str) and own else fingerprint(name, _source(thing), _settings(thing))


def _source(thing: Any) -> str:
    """The source of a function or of an object's class; empty where there is none to read."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    written = inspect.unwrap(thing) if inspect.isroutine(thing) else type(thing)
    try:
        return inspect.getsource(written)
    except (OSError, TypeError, SyntaxError):
        return ""


def _settings(thing: Any) -> str:
    """What tells two things of the same source apart, as text: arguments, defaults, closures, fields.

    Addresses in memory are left out. Text that differs for another reason only makes a new fingerprint.
    """
    try:
        return _ADDRESS.sub("", repr(_held(thing)))
    except Exception:  # noqa: BLE001  foreign code: objects write their own text
        return ""


def _held(thing: Any) -> Any:
    if isinstance(thing, functools.partial):
        return thing.args, thing.keywords, _held(thing.func)
    if inspect.ismethod(thing):
        return _held(thing.__self__), _held(thing.__func__)
    if inspect.isfunction(thing):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return thing.__defaults__, thing.__kwdefaults__, cells
    kind: Any = type(thing)
    if kind.__repr__ is object.__repr__ and hasattr(thing, "__dict__"):
        return vars(thing)
    return thing
