"""Keep files in the folder of a suite from shadowing the libraries that evalmark needs.

Folders with users' modules are put at the front of the import path, where a `jinja2.py` would replace the library. An
import finder before all others prevents that: modules of Python, and of evalmark's requirements, are always imported
from where they are installed. It ignores every other name and imports nothing early.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.core.lazy import need

if TYPE_CHECKING:
    from importlib.metadata import Distribution
    from types import ModuleType

_PACKAGE = __name__.partition(".")[0]
_INSTALLED = ("site-packages", "dist-packages")
_SHADOWABLE = frozenset(("antigravity", "idlelib", "lib2to3", "test", "this", "tkinter", "turtle", "turtledemo"))
"""Modules of Python that no library uses, so that a user's may replace them; many projects have a package `test`."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")
_DEVELOPMENT_EXTRA = "dev"


def guard_imports(folders: Iterable[Path] = ()) -> None:
    """Install the import finder, and mark folders as those of users' modules."""
    _GUARD.users.update(map(os.fspath, folders))
    if _GUARD not in sys.meta_path:
        sys.meta_path.insert(0, _GUARD)


def user_import_paths() -> tuple[str, ...]:
    """Return the entries of the import path that may hold users' modules."""
    return tuple(place for place in sys.path if _GUARD.is_users(place))


def unused_module_note(name: str, folders: Iterable[Path]) -> str:
    """Return the note on a module in these folders that is ignored, because evalmark needs another one; else empty."""
    offered = PathFinder.find_spec(name, [*map(os.fspath, folders)])
    home = _GUARD.home_of(name) if offered is not None and offered.origin is not None else None
    if offered is None or home is None or PathFinder.find_spec(name, home) is None:
        return ""
    return _not_used_note(name, offered)


def unused_module_notes(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the notes on all ignored modules in these folders."""
    folders = list(dict.fromkeys(folders))
    names = {module for folder in folders for module in _shadowing_names(folder)}
    notes = [unused_module_note(name, folders) for name in sorted(names)]
    return tuple(dict.fromkeys(note for note in (*notes, *_GUARD.notes) if note))


def provides_module(distribution: "Distribution", name: str) -> bool:
    """Tell whether a distribution installs the top-level module of this name.

    This reads the metadata as text, which is far faster than listing the files as objects.
    """
    record = distribution.read_text("RECORD")
    if record is not None and re.search(rf"^{re.escape(name)}(?:/|\.py,|\.[^/,]*(?:so|pyd),)", record, re.MULTILINE):
        return True
    listed = (distribution.read_text("top_level.txt") or "").split()
    return name in listed or (
        not listed and normalized_name(distribution.metadata["Name"] or "") == normalized_name(name)
    )


def normalized_name(name: str) -> str:
    """Normalize the name of a distribution.

    >>> normalized_name("Ruamel.YAML-clib")
    'ruamel_yaml_clib'
    """
    return re.sub(r"[-_.]+", "_", name).lower()


class _ImportGuard:
    """An import finder for modules that both evalmark and a user's folder provide."""

    def __init__(self) -> None:
        self.users: set[str] = set()
        self.notes: list[str] = []
        """Notes on modules that users' code imported and that were ignored."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        """Find the module that evalmark needs; None if only one place provides the name."""
        if path is not None:  # submodules come from the same place as their package
            return None
        places = [place for place in sys.path if self.is_users(place)]
        if not any(PathFinder.find_spec(name, [place]) for place in places):  # as nearly always
            return None
        offers = {place: spec for place in sys.path if (spec := PathFinder.find_spec(name, [place]))}
        is_claimed = len({spec.origin for spec in offers.values()}) > 1
        home = self.home_of(name) if is_claimed else None
        found = None if home is None else PathFinder.find_spec(name, home)
        if found is None or home is None:
            return None
        taking = {place: spec for place, spec in offers.items() if spec.origin is not None and self.is_users(place)}
        if taking and _import_comes_from(taking):
            self.notes.append(_not_used_note(name, next(iter(taking.values()))))
        if found.origin is not None:
            return found
        # Several places may provide parts of a namespace package.
        return PathFinder.find_spec(name, [*home, *(place for place in sys.path if place not in taking)])

    def is_users(self, place: str) -> bool:
        """Tell whether an entry of the import path is neither Python's nor one of installed packages."""
        return place in self.users or not place or not _is_of_packages(place)

    def home_of(self, name: str) -> list[str] | None:
        """Return the import path of the module that evalmark needs; None if it needs none of this name."""
        if name in sys.stdlib_module_names:
            return None if name in _SHADOWABLE else [*_python_folders()]
        if name == _PACKAGE:
            return [_package_folder()]
        found = _provider(name)
        return None if found is None else [str(found.locate_file(""))]


_GUARD = _ImportGuard()


def _not_used_note(name: str, spec: ModuleSpec) -> str:
    whose = "Python's own" if name in sys.stdlib_module_names else "the installed"
    return f"{spec.origin} is not used: evalmark needs {whose} module {name!r}. To use the file, rename it."


def _import_comes_from(places: Iterable[str]) -> bool:
    """Tell whether the current import statement is in a file of one of these places."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return Path(frame.f_code.co_filename).is_relative_to(next(iter(places)) or Path.cwd())


@lru_cache(maxsize=256)
def _is_of_packages(place: str) -> bool:
    """Tell whether an entry of the import path is Python's, or one of installed packages."""
    return place in _python_folders() or Path(place).name in _INSTALLED or place == _package_folder()


@lru_cache(maxsize=1)
def _python_folders() -> tuple[str, ...]:
    home = Path(os.__file__).parent
    zipped = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    own = (str(home), str(home / "lib-dynload"), str(Path(sys.base_prefix) / "DLLs"))
    return (*own, *(place for place in sys.path if Path(place).name == zipped))


@lru_cache(maxsize=1)
def _package_folder() -> str:
    return str(Path(__file__).parents[3])


@lru_cache(maxsize=256)
def _provider(name: str) -> "Distribution | None":
    """Return the required distribution that installs a module; None if there is none."""
    return next((distribution for distribution in _requirements() if provides_module(distribution, name)), None)


@lru_cache(maxsize=1)
def _requirements() -> "tuple[Distribution, ...]":
    """Return all installed requirements of evalmark and its extras, transitively.

    Computed only when a user's folder has a module that is not one of Python's names.
    """
    found: dict[str, Distribution | None] = {}
    waiting = [(_PACKAGE, _own_extras())]
    known = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        if name not in found:
            found[name] = installed_distribution(name)
        one = found[name]
        more = {*()} if one is None else {*_requirements_of(one, extras)} - known
        known |= more
        waiting += more
    return tuple(one for one in found.values() if one is not None)


def _own_extras() -> frozenset[str]:
    """Return the extras of evalmark, without that of its developers' tools."""
    own = installed_distribution(_PACKAGE)
    extras = () if own is None else own.metadata.get_all("Provides-Extra") or ()
    return frozenset(map(normalized_name, extras)) - {_DEVELOPMENT_EXTRA}


def installed_distribution(name: str) -> "Distribution | None":
    """Find an installed distribution by name; one in a user's folder only if there is no other."""
    library = need("importlib.metadata")  # slow to load
    places = [
        _package_folder(),
        *sorted((place for place in sys.path if place not in _GUARD.users), key=_GUARD.is_users),
    ]
    found: Distribution | None = next(iter(library.Distribution.discover(name=name, path=places)), None)
    return found


def is_users_folder(place: str) -> bool:
    """Tell whether a folder of the import path is that of a suite or the working directory, where nothing is installed."""
    return place in _GUARD.users or place in ("", ".", str(Path.cwd()))


def _requirements_of(distribution: "Distribution", extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the requirements of a distribution with some of its extras, each with the extras it is required with."""
    for line in distribution.requires or ():
        found, extra = _REQUIREMENT.match(line), _EXTRA.search(line)
        if found and (extra is None or normalized_name(extra[1]) in extras):
            yield (
                normalized_name(found[1]),
                frozenset(normalized_name(name.strip()) for name in (found[2] or "").split(",") if name),
            )


def _shadowing_names(folder: Path) -> Iterator[str]:
    """Yield the names of modules in a folder that are also installed."""
    try:
        names = {entry.removesuffix(".py") for entry in os.listdir(folder)}  # noqa: PTH208  only names are needed
    except OSError:
        return
    elsewhere = [place for place in sys.path if not _GUARD.is_users(place)]
    for name in names - sys.stdlib_module_names:
        if name.isidentifier() and PathFinder.find_spec(name, elsewhere) is not None:
            yield name
