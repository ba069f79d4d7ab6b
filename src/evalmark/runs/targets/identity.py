"""Who a target is: its name in reports, and a fingerprint that changes when its code or its settings do."""

import functools
from typing import Any

from evalmark.core.foreign.identity import describe_object
from evalmark.core.values.plain_data import fingerprint


def target_name(thing: Any) -> str:
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


def target_fingerprint(thing: Any, name: str) -> str:
    """The thing's own `fingerprint`, or one of its name, its source and its settings."""
    own = getattr(thing, "fingerprint", None)
    return own if isinstance(own, str) and own else fingerprint(name, describe_object(thing))
