"""Who a target is: its name in reports, and a fingerprint that changes when its code does."""

import dataclasses
import functools
import inspect
import json
from typing import Any

from evalmark.values import fingerprint


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
    """The thing's own `fingerprint`, or one of its name, its source and its plain settings.

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
    """The arguments of a partial, the fields of a dataclass; empty where these are not plain data."""
    if isinstance(thing, functools.partial):
        held: Any = (thing.args, thing.keywords)
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        held = {field.name: getattr(thing, field.name, None) for field in dataclasses.fields(thing)}
    else:
        return ""
    try:
        return json.dumps(held, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return ""
