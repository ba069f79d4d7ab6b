"""The name of a target in reports, and its fingerprint, which changes with its code and settings."""

import functools
from typing import Any

from evalmark.core.foreign.identity import describe_object
from evalmark.core.values.plain_data import fingerprint


def target_name(thing: Any) -> str:
    """Return `package.module:name` of a function or class, or the `name` of an object or of its class.

    >>> import textwrap
    >>> target_name(textwrap.shorten)
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


def target_fingerprint(thing: Any, name: str) -> str:
    """Return the object's own `fingerprint`, or one of its name, source and settings."""
    own = getattr(thing, "fingerprint", None)
    return own if isinstance(own, str) and own else fingerprint(name, describe_object(thing))
