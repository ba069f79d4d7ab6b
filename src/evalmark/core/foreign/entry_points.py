"""Read the entry points and versions of installed distributions.

`importlib.metadata` does the same, but loads parsers of e-mail, CSV and ZIP for it, which takes longer than the search
itself; a small run needs neither.
"""

import importlib
import os
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.core.lazy import need

from .import_guard import is_users_folder, normalized_name

_METADATA = (".dist-info", ".egg-info")


class InstalledEntryPoint(NamedTuple):
    """An object that an installed distribution offers to other packages."""

    group: str
    name: str
    value: str
    folder: str
    """The folder that the distribution is installed in."""

    @property
    def object_name(self) -> str:
        """The object, as `package.module:attribute`."""
        return self.value.partition("[")[0].strip()

    @property
    def is_installed(self) -> bool:
        """Whether an installed package offers it, and not files in the folder of a suite."""
        return not is_users_folder(self.folder)

    def load(self) -> Any:
        """Import the object."""
        module, _, attributes = self.object_name.partition(":")
        found: Any = importlib.import_module(module.strip())
        for attribute in filter(None, attributes.strip().split(".")):
            found = getattr(found, attribute)
        return found


def entry_points(prefix: str) -> list[InstalledEntryPoint]:
    """Return the entry points whose group starts with `prefix`, in the order of the import path.

    >>> {entry.object_name for entry in entry_points("evalmark.scorers") if entry.name == "contains"}
    {'evalmark.scorers:Contains'}
    """
    found = _distributions().values()
    return [entry for one in found for entry in one.entries if entry.group.startswith(prefix)]


@lru_cache(maxsize=1)
def own_version() -> str:
    """Return the version of evalmark."""
    name = __name__.partition(".")[0]
    own = _distributions().get(name)
    for line in () if own is None else _text(own.folder, own.metadata, "METADATA").splitlines():
        if line.startswith("Version: "):
            return line.removeprefix("Version: ").strip()
    version: str = need("importlib.metadata").version(name)  # raises its own error if evalmark is not installed
    return version


class _Distribution(NamedTuple):
    folder: str
    metadata: str
    """The name of the metadata folder."""
    entries: tuple[InstalledEntryPoint, ...]


def _distributions() -> dict[str, _Distribution]:
    """Return the distributions by name; of several with one name, the first on the import path counts."""
    found: dict[str, _Distribution] = {}
    for place in sys.path:
        with suppress(OSError):
            for name, one in _distributions_in(place, os.stat(place or ".").st_mtime_ns):  # noqa: PTH116
                found.setdefault(name, one)
    return found


@lru_cache(maxsize=64)
def _distributions_in(place: str, changed: int) -> tuple[tuple[str, _Distribution], ...]:
    """Read the distributions in a folder that was changed at this time."""
    return tuple(
        (
            normalized_name(child.rpartition(".")[0].partition("-")[0]),
            _Distribution(place, child, _entries(place, child)),
        )
        for child in os.listdir(place or ".")  # noqa: PTH208  only names are needed
        if child.endswith(_METADATA)
    )


def _text(place: str, metadata: str, file: str) -> str:
    try:
        return Path(place, metadata, file).read_text(encoding="utf-8")
    except OSError:
        return ""


def _entries(place: str, metadata: str) -> tuple[InstalledEntryPoint, ...]:
    entries, group = [], ""
    for line in map(str.strip, _text(place, metadata, "entry_points.txt").splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            entries.append(InstalledEntryPoint(group, name.strip(), value.strip(), place))
    return tuple(entries)
