"""Flags, EVALMARK_* and [tool.evalmark] as one frozen value."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from evalmark.errors import ConfigError

MOST_JOBS = 10_000
"""More trials at the same time than any machine or provider takes; a slip of the finger, most likely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a user may set once for every run; flag > EVALMARK_* > [tool.evalmark] > default."""

    store: str = ".evalmark/evalmark.db"
    """The SQLite file with all runs, relative to the working directory; in `[tool.evalmark]` relative to that file."""
    embeddings: str = "all-MiniLM-L6-v2"
    """The embedding model: a name, a local folder, or `module:attribute`."""
    embedding_mode: str = "exact"
    """`exact` (fp32) or `fast` (bf16 where the processor has it)."""
    jobs: int = 10
    """How many trials are answered at the same time (`-j`)."""
    timeout: float | None = None
    """Seconds a trial may take; None: as long as it wants."""
    cache_dir: str = ""
    """Where model weights are kept; empty: the user's cache folder."""
    offline: bool = False
    """Fetch nothing: use only what is on this machine."""


def load(environ: Mapping[str, str], folder: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings in force for a command run in `folder`.

    `flags` holds what the command line gave; None values count as not given.

    Raises:
        ConfigError: a value cannot be read, or `[tool.evalmark]` has an unknown key.
    """
    faults: list[str] = []
    found = _from_project(folder, faults)
    found |= _from_environment(environ, faults)
    found |= {
        name: value
        for name, given in (flags or {}).items()
        if given is not None and (value := _read(name, given, name.replace("_", "-"), faults)) is not None
    }
    if faults:
        raise ConfigError.of(faults)
    return replace(Settings(), **found)


def _from_project(folder: Path, faults: list[str]) -> dict[str, Any]:
    path = next((p for d in (folder, *folder.parents) if (p := d / "pyproject.toml").is_file()), None)
    if path is None:
        return {}
    try:
        tools = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        faults.append(f"{path}: cannot be read as TOML: {error}")
        return {}
    table = tools.get("evalmark", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        faults.append(f"{path}: tool.evalmark is {table!r}, not a table; write its settings under [tool.evalmark]")
        return {}
    known = {f.name for f in fields(Settings)}
    unknown = [key for key in table if key.replace("-", "_") not in known]
    if unknown:
        faults.append(f"{path}: [tool.evalmark] has no setting {unknown[0]!r}; it knows {', '.join(sorted(known))}")
    return {
        name: str(path.parent / value) if name in _PATHS and value and path.parent != folder else value
        for key, text in table.items()
        if (name := key.replace("-", "_")) in known
        and (value := _read(name, text, f"{path}: [tool.evalmark] {key}", faults)) is not None
    }


def _from_environment(environ: Mapping[str, str], faults: list[str]) -> dict[str, Any]:
    return {
        f.name: value
        for f in fields(Settings)
        if (text := environ.get(variable := f"EVALMARK_{f.name.upper()}"))
        and (value := _read(f.name, text, variable, faults)) is not None
    }


def _read(name: str, given: Any, place: str, faults: list[str]) -> Any:
    """The value in its field's type, or None and a fault."""
    try:
        return _READERS[name](given)
    except (KeyError, TypeError, ValueError):
        faults.append(f"{place}: {given!r} is not {_EXPECTED.get(name, 'a text')}")
        return None


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _jobs(given: Any) -> int:
    if isinstance(given, bool) or not 1 <= int(given) <= MOST_JOBS or int(given) != float(given):
        raise ValueError
    return int(given)


def _seconds(given: Any) -> float:
    if isinstance(given, bool) or not 0 < float(given) < float("inf"):
        raise ValueError
    return float(given)


def _mode(given: Any) -> str:
    return {"exact": "exact", "fast": "fast"}[given]


def _truth(given: Any) -> bool:
    return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[str(given).lower()]


_PATHS = ("store", "cache_dir")
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "store": _text,
    "embeddings": _text,
    "embedding_mode": _mode,
    "jobs": _jobs,
    "timeout": _seconds,
    "cache_dir": _text,
    "offline": _truth,
}
_EXPECTED = {
    "embedding_mode": "'exact' or 'fast'",
    "jobs": f"a whole number from 1 to {MOST_JOBS:,}",
    "timeout": "a number of seconds above 0",
    "offline": "true or false",
}
