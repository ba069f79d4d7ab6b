"""Finds scorers by name: built-in, installed by another package, or `package.module:attribute`."""

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import signature_of
from evalmark.core.foreign.entry_points import InstalledEntryPoint, entry_points
from evalmark.core.foreign.named_objects import is_named_object, load_object
from evalmark.core.lazy import need

from .bound_scorer import ARGUMENTS, MODEL_PARAMETERS
from .negation import Not
from .text import preview

GROUP = "evalmark.scorers"
"""The entry-point group of the built-in scorers and those of other packages."""
NEGATION_PREFIX = "not-"


def resolve_scorer(
    spec: str, settings: Mapping[str, Any] | None = None, place: str = "", folders: Sequence[Path] = ()
) -> Callable[..., Any]:
    """Return the scorer of a name, with its settings; `not-NAME` negates a check.

    `place` (file and line, or a flag) starts every message. Modules and files are also looked for in `folders`.

    >>> resolve_scorer("contains", {"any": ["Oslo"]})
    Contains(any=['Oslo'], all=(), ignore_case=False)

    Raises:
        ConfigError: There is no such scorer, a setting is unknown, missing or of the wrong type, or the negated scorer
            does not pass or fail.
    """
    before = f"{place}: " if place else ""
    if spec.startswith(NEGATION_PREFIX):
        check = resolve_scorer(spec.removeprefix(NEGATION_PREFIX), settings, place, folders)
        if not getattr(check, "is_check", False):
            raise ConfigError(f"{before}{spec}: only checks such as equals, contains or regex can be negated.")
        return Not(check)  # type: ignore[arg-type]
    found = (
        load_object(spec, folders, what=f"{before}scorer")
        if is_named_object(spec)
        else _installed_scorer(spec, before, folders)
    )
    if not callable(found):
        raise ConfigError(f"{before}scorer {spec!r} is {preview(found)}, which cannot be called.")
    return _build(found, _checked_settings(found, settings or {}, f"{before}{spec}", folders), spec, before)


def scorer_names() -> tuple[str, ...]:
    """Return the names of all installed scorers, sorted."""
    return tuple(sorted({entry.name for entry in entry_points(GROUP)}))


def _installed_scorer(spec: str, before: str, folders: Sequence[Path]) -> Any:
    normalized = spec.replace("-", "_")
    found = {entry.value: entry for entry in entry_points(GROUP) if entry.name.replace("-", "_") == normalized}
    if not found:
        near = (
            difflib.get_close_matches(normalized, scorer_names(), n=1, cutoff=0.5) if normalized.isidentifier() else []
        )
        name, has_settings, _ = spec.partition(":")
        if has_settings and name.strip() in scorer_names():
            raise ConfigError(
                f"{before}there is no scorer {spec!r}. Settings of {name.strip()!r} are written in a suite, under `metrics`."
            )
        known = f"Available: {', '.join(scorer_names())}, and your own as 'package.module:attribute'."
        raise ConfigError(f"{before}there is no scorer {spec!r}. {f'Did you mean {near[0]!r}?' if near else known}")
    if len(found) > 1:
        raise ConfigError(f"{before}two packages install a scorer {spec!r}: {', '.join(sorted(found))}. Remove one.")
    (entry,) = found.values()
    # Files next to a suite may imitate an installed package, so their entry points are treated as code that the suite names.
    return (
        _load_entry_point(entry, before)
        if entry.is_installed
        else load_object(entry.object_name, folders, what=f"{before}scorer")
    )


def _load_entry_point(entry: InstalledEntryPoint, before: str) -> Any:
    try:
        return entry.load()
    except Exception as broken:  # foreign code: the plug-in's module runs here
        raise ConfigError(
            f"{before}scorer {entry.name!r}: importing {entry.value} raised {type(broken).__name__}: {broken}."
        ) from broken


def _checked_settings(found: Any, settings: Mapping[str, Any], what: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the settings in the types that the scorer's parameters name; `what` starts every message."""
    try:
        parameters = signature_of(found).parameters
    except (TypeError, ValueError):
        parameters = inspect.signature(lambda **settings: None).parameters
    taken = MODEL_PARAMETERS if inspect.isclass(found) else (*ARGUMENTS, *MODEL_PARAMETERS)
    allowed = [
        n for n, p in parameters.items() if n not in taken and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    faults = []
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        faults += [_unknown_setting(key, allowed, what) for key in settings if key not in allowed]
    if inspect.isclass(found):
        needed = [n for n in allowed if parameters[n].default is inspect.Parameter.empty and n not in settings]
        faults += [f"{what}: the setting {name!r} is missing." for name in needed]
    hints = _type_hints(found) if settings else {}
    read = {}
    for key, value in settings.items():
        if key in allowed:
            read[key], fault = _read_setting(value, hints.get(key, Any), folders)
            faults += [f"{what}: the setting {key!r} is {preview(value)}: {fault}."] if fault else []
    if faults:
        raise ConfigError.of(faults)
    return {**settings, **read}


def _read_setting(value: Any, hint: Any, folders: Sequence[Path]) -> tuple[Any, str]:
    """Return the value in the hinted type, and what is wrong with it; pydantic loads only for a value that is not plain."""
    if any(_is_plain(value, part) for part in (get_args(hint) if isinstance(hint, UnionType) else (hint,))):
        return value, ""
    found: tuple[Any, str] = need("evalmark.scoring.binding.setting_types").read_setting(value, hint, folders)
    return found


def _is_plain(value: Any, hint: Any) -> bool:
    """Tell whether a value is of exactly this type, so that pydantic would return it unchanged."""
    if get_origin(hint) is Sequence:
        return type(value) is list and all(_is_plain(item, get_args(hint)[0]) for item in value)
    if value is None or type(value) is not hint:
        return value is None and hint in (None, NoneType)
    return hint in (bool, int, float) or (hint is str and value.isascii())


def _unknown_setting(key: str, allowed: Sequence[str], what: str) -> str:
    if near := difflib.get_close_matches(key, (*allowed, *_COMMON_SETTINGS), n=1):
        return f"{what}: there is no setting {key!r}; did you mean {near[0]!r}?"
    return f"{what}: there is no setting {key!r}; it knows {', '.join((*allowed, *_COMMON_SETTINGS))}."


_COMMON_SETTINGS = ("threshold", "name")
"""Settings of every scorer, which are read before its own."""


def _type_hints(found: Any) -> Mapping[str, Any]:
    source = found if inspect.isclass(found) or inspect.isroutine(found) else type(found).__call__
    if inspect.isclass(found) and "__dataclass_fields__" not in vars(found):
        source = found.__init__
    try:
        return get_type_hints(source)
    except (AttributeError, NameError, SyntaxError, TypeError):  # a foreign annotation that cannot be evaluated
        return {}


def _build(found: Any, settings: Mapping[str, Any], spec: str, before: str) -> Callable[..., Any]:
    if not inspect.isclass(found):
        plain: Callable[..., Any] = functools.partial(found, **settings) if settings else found
        return plain
    make: Callable[..., Any] = found
    try:
        scorer: Callable[..., Any] = make(**settings)
    except ConfigError as error:
        raise type(error)(f"{before}{error}") from error
    except Exception as broken:  # foreign code: the scorer's own class
        raise ConfigError(f"{before}{spec}: making it raised {type(broken).__name__}: {broken}.") from broken
    return scorer
