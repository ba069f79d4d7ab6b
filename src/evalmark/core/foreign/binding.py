"""How a foreign function is called: its parameters are filled by their names."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Binding:
    """Which offered names a function takes, decided once before the run."""

    names: tuple[str, ...]
    first: str | None = None
    """The offered name that fills the first positional parameter, where that has a name of its own."""

    def arguments(self, offers: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments for one call, taken from the offers."""
        args = () if self.first is None else (offers[self.first],)
        return args, {name: offers[name] for name in self.names}


def bind(function: Callable[..., Any], offered: Collection[str], *, what: str, first: str | None = None) -> Binding:
    """Fit a function's parameters to the offered names.

    `first` is the offer that fills the first positional parameter whatever it is called
    (a task's input). Parameters with defaults that are not offered keep their defaults.

    Raises:
        ConfigError: a required parameter is none of the offered names.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some C functions show no signature
        return Binding((), first)
    unnamed = first is not None and bool(parameters) and _takes_first(parameters[0], offered)
    wanted = parameters[1:] if unnamed and parameters[0].kind is not parameters[0].VAR_POSITIONAL else parameters
    by_name = [p for p in wanted if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    missing = [
        p.name
        for p in wanted
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
