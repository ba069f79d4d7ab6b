"""Fill the parameters of users' functions by name."""

import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.core.errors import ConfigError


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a user's function, whatever its annotations name.

    From Python 3.14 on, annotations are evaluated only when they are read, and may name what is imported for type checkers
    only. `inspect.signature` reads them, and would raise the NameError.

    Raises:
        TypeError: the object cannot be called, or is a C function whose signature is unknown.
        ValueError: as TypeError.
    """
    if sys.version_info >= (3, 14):
        import annotationlib  # noqa: PLC0415  new in Python 3.14; `inspect` has loaded it

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


@dataclass(frozen=True, slots=True)
class Binding:
    """The offered arguments that a function takes, decided once before the run."""

    names: tuple[str, ...]
    first: str | None = None
    """The offered name for the first positional parameter, if that parameter has another name."""

    def arguments(self, offers: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Select the positional and keyword arguments of one call."""
        args = () if self.first is None else (offers[self.first],)
        return args, {name: offers[name] for name in self.names}


def bind(function: Callable[..., Any], offered: Collection[str], *, what: str, first: str | None = None) -> Binding:
    """Match a function's parameters with the offered names. Other parameters keep their defaults.

    Args:
        function: the user's function.
        offered: the names of the values that a call can pass.
        what: names the function in messages.
        first: the offered name that fills the first positional parameter, whatever that is called (a target's input).

    Raises:
        ConfigError: a required parameter has none of the offered names.
    """
    try:
        parameters = list(signature_of(function).parameters.values())
    except (TypeError, ValueError):  # some C functions have no signature
        return Binding((), first)
    unnamed = first is not None and bool(parameters) and _takes_first(parameters[0], offered)
    remaining = parameters[1:] if unnamed and parameters[0].kind is not parameters[0].VAR_POSITIONAL else parameters
    by_name = [p for p in remaining if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    missing = [
        p.name
        for p in remaining
        if p.default is p.empty and p.name not in offered and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if missing:
        raise ConfigError(
            f"{what}: cannot fill parameter {', '.join(map(repr, missing))}. "
            f"Give it a default, or one of these names: {', '.join(sorted(offered))}."
        )
    return Binding(tuple(p.name for p in by_name if p.name in offered), first if unnamed else None)


def _takes_first(parameter: inspect.Parameter, offered: Collection[str]) -> bool:
    positional = parameter.kind in (
        parameter.POSITIONAL_ONLY,
        parameter.POSITIONAL_OR_KEYWORD,
        parameter.VAR_POSITIONAL,
    )
    return positional and (parameter.name not in offered or parameter.kind is parameter.POSITIONAL_ONLY)
