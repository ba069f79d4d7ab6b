"""Checks the arguments of statistical functions against their annotations."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

F = TypeVar("F", bound=Callable[..., Any])
_MANY = (Sequence, Iterable, list)


def check_arguments(function: F) -> F:
    """Make a function refuse arguments that do not fit its annotations, before it computes anything.

    Numbers have to be finite, also those in sequences, tuples and mappings: comparisons with NaN are always
    false, so that sorting and counting would give plausible but wrong results. Arguments annotated as `Any`,
    `Hashable` or callables are not checked.

    Raises:
        ValueError: a number is NaN or infinite, a whole number has a fraction, a word is none of those known, or an argument is
            of another kind.
    """
    accepted = signature(function)
    names = _positional_names(accepted)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if options or len(args) > len(names):
            bound = accepted.bind(*args, **options)
            _check_given(function, bound.arguments)
            return function(*bound.args, **bound.kwargs)
        given = dict(zip(names, args, strict=False))  # pages call some of these for each score, and binding is slow
        _check_given(function, given)
        return function(*given.values())

    return cast("F", call)


def _positional_names(accepted: Signature) -> tuple[str, ...]:
    """Return the names of the arguments that need no name in a call; none if their number is not limited."""
    kinds = {parameter.kind for parameter in accepted.parameters.values()}
    if Parameter.VAR_POSITIONAL in kinds:
        return ()
    named = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(name for name, parameter in accepted.parameters.items() if parameter.kind in named)


def _check_given(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Check arguments by their names; one that the check would consume becomes a list in `given`."""
    hints = _hints(function)
    for name, value in given.items():
        hint = hints.get(name, Any)
        if _is_drained(value, hint):
            value = given[name] = list(value)
        _check(value, hint, f"{function.__name__}: {name}")


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(function)


def _is_drained(value: Any, hint: Any) -> bool:
    """Return whether checking an argument would consume it, as with a generator."""
    is_once = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Sequence, Mapping))
    return is_once and get_origin(hint) is Iterable and not _is_value(get_args(hint)[0])


def _is_value(hint: Any) -> bool:
    """Return whether a hint names a class of evalmark.

    Sequences of these may be read from disk, so their items are not checked.
    """
    return isinstance(hint, type) and hint.__module__.startswith("evalmark.")


def _check(value: Any, hint: Any, where: str) -> None:
    """Raise ValueError if a value does not fit a hint."""
    origin = get_origin(hint)
    if hint in (float, int, bool):
        _check_number(value, hint, where)
    elif origin in (Union, UnionType):
        _check_one_of(value, get_args(hint), where)
    elif origin is Literal:
        _check_word(value, get_args(hint), where)
    elif origin is tuple:
        _check_tuple(value, get_args(hint), where)
    elif origin in _MANY:
        _check_many(value, get_args(hint)[0], where)
    elif origin is Mapping:
        _check_kind(value, Mapping, where)
        _check_all(value.values(), get_args(hint)[1], where)
    elif hint is str or _is_value(hint):
        _check_kind(value, hint, where)


def _check_one_of(value: Any, hints: tuple[Any, ...], where: str) -> None:
    if value is None and NoneType in hints:
        return
    known = [hint for hint in hints if hint is not NoneType]
    if len(known) == 1 or not isinstance(value, (bool, str)):
        _check(value, known[0], where)
        return
    words = [word for hint in known if get_origin(hint) is Literal for word in get_args(hint)]
    if not isinstance(value, bool):
        _check_word(value, words, where)


def _check_word(value: Any, known: Sequence[Any], where: str) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{where} must be one of {', '.join(map(repr, known))}, got {value!r}")


def _check_tuple(value: Any, hints: tuple[Any, ...], where: str) -> None:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)) or len(value) != len(hints):
        raise ValueError(f"{where} must be {len(hints)} values, got {value!r}")
    for one, hint in zip(value, hints, strict=True):
        _check(one, hint, where)


def _check_many(value: Any, hint: Any, where: str) -> None:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ValueError(f"{where} must be a sequence, got {value!r}")  # noqa: TRY004  as for every argument
    _check_all(value, hint, where)


def _check_all(values: Iterable[Any], hint: Any, where: str) -> None:
    if hint is float:  # numbers can be many
        for value in values:
            if type(value) is not int and (type(value) is not float or not math.isfinite(value)):
                _check_number(value, hint, where)
        return
    if hint in (int, bool):
        for value in values:
            if type(value) is not int or (hint is bool and value not in (0, 1)):
                _check_number(value, hint, where)
        return
    for value in () if _is_value(hint) else values:
        _check(value, hint, where)


def _check_kind(value: Any, kind: type, where: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{where} must be a {kind.__name__}, got {value!r}")  # noqa: TRY004  as for every argument


def _check_number(value: Any, kind: type, where: str) -> None:
    if type(value).__name__ in ("bool", "bool_"):  # numpy's bool is not a Python number
        return
    if not isinstance(value, Real) or not _is_of(value, kind):
        raise ValueError(f"{where} must be {_NAMES[kind]}, got {value!r}")


def _is_of(value: Any, kind: type) -> bool:
    if kind is bool:
        return value in (0, 1)
    return isinstance(value, Integral) or (math.isfinite(value) and (kind is float or float(value).is_integer()))


_NAMES = {float: "a finite number", int: "a whole number", bool: "true or false"}
