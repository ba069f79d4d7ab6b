"""What evalmark itself is built on stays what is installed with it, whatever lies beside a suite.

To find a user's module, folders are put in front of the import path, and a `jinja2.py` in one of them would take the
place of the library. A finder in front of all others prevents that: a module of Python, or of what evalmark requires,
comes from where that is installed. Every other name is left to the finders behind it, and nothing is imported early.
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
    from importlib.metadata import Distribution, EntryPoint
    from types import ModuleType

_PACKAGE = __name__.partition(".")[0]
_INSTALLED = ("site-packages", "dist-packages")
_SHADOWABLE = frozenset(("antigravity", "idlelib", "lib2to3", "test", "this", "tkinter", "turtle", "turtledemo"))
"""Modules of Python on which no library is built; many projects have a package `test`."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")
_DEVELOPMENT_EXTRA = "dev"


def guard_imports(folders: Iterable[Path] = ()) -> None:
    """From now on, what evalmark is built on is not looked for in `folders`, nor wherever else a user's modules lie."""
    _GUARD.users.update(map(os.fspath, folders))
    if _GUARD not in sys.meta_path:
        sys.meta_path.insert(0, _GUARD)


def user_import_paths() -> tuple[str, ...]:
    """The places of the import path in which users' modules may lie, and evalmark's own libraries do not."""
    return tuple(place for place in sys.path if _GUARD.is_users(place))


def unused_module_note(name: str, folders: Iterable[Path]) -> str:
    """What to say of a module in these folders that is not used, since evalmark needs another of its name; else nothing."""
    offered = PathFinder.find_spec(name, [*map(os.fspath, folders)])
    home = _GUARD.home_of(name) if offered is not None and offered.origin is not None else None
    if offered is None or home is None or PathFinder.find_spec(name, home) is None:
        return ""
    return _not_used_note(name, offered)


def unused_module_notes(folders: Iterable[Path]) -> tuple[str, ...]:
    """What to say of the modules in these folders that are not used."""
    folders = list(dict.fromkeys(folders))
    named = {module for folder in folders for module in _shadowing_names(folder)}
    said = [unused_module_note(name, folders) for name in sorted(named)]
    return tuple(dict.fromkeys(sentence for sentence in (*said, *_GUARD.said) if sentence))


def provides_module(distribution: "Distribution", name: str) -> bool:
    """Whether a distribution installs the module of this name at the top.

    Asked of the texts that came with it, since the list of its files as objects takes far longer.
    """
    record = distribution.read_text("RECORD")
    if record is not None and re.search(rf"^{re.escape(name)}(?:/|\.py,|\.[^/,]*(?:so|pyd),)", record, re.MULTILINE):
        return True
    listed = (distribution.read_text("top_level.txt") or "").split()
    return name in listed or (
        not listed and normalized_name(distribution.metadata["Name"] or "") == normalized_name(name)
    )


def normalized_name(name: str) -> str:
    """The name of a distribution in the one spelling that all of them have.

    >>> normalized_name("Ruamel.YAML-clib")
    'ruamel_yaml_clib'
    """
    return re.sub(r"[-_.]+", "_", name).lower()


class _ImportGuard:
    """A finder of modules that answers for names that both evalmark and a user's folder have."""

    def __init__(self) -> None:
        self.users: set[str] = set()
        self.said: list[str] = []
        """Of modules that a user's own code asked for and did not get."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        """Where the module lies that evalmark needs; None where nobody else offers one of its name."""
        if path is not None:  # what is in a package comes from where the package does
            return None
        offers = {place: spec for place in sys.path if (spec := PathFinder.find_spec(name, [place]))}
        is_claimed = len({spec.origin for spec in offers.values()}) > 1 and any(map(self.is_users, offers))
        home = self.home_of(name) if is_claimed else None
        found = None if home is None else PathFinder.find_spec(name, home)
        if found is None or home is None:
            return None
        taking = {place: spec for place, spec in offers.items() if spec.origin is not None and self.is_users(place)}
        if taking and _import_comes_from(taking):
            self.said.append(_not_used_note(name, next(iter(taking.values()))))
        if found.origin is not None:
            return found
        # Of a namespace package everybody may have a part, and nobody the whole.
        return PathFinder.find_spec(name, [*home, *(place for place in sys.path if place not in taking)])

    def is_users(self, place: str) -> bool:
        """Whether a place of the import path is not where Python or what evalmark requires is installed."""
        if place in self.users or not place:
            return True
        return place not in _python_folders() and Path(place).name not in _INSTALLED and place != _package_folder()

    def home_of(self, name: str) -> list[str] | None:
        """Where the module of a name is installed that evalmark needs; None where it needs none of that name."""
        if name in sys.stdlib_module_names:
            return None if name in _SHADOWABLE else [*_python_folders()]
        if name == _PACKAGE:
            return [_package_folder()]
        found = _provider(name)
        return None if found is None else [str(found.locate_file(""))]


_GUARD = _ImportGuard()


def _not_used_note(name: str, spec: ModuleSpec) -> str:
    whose = "Python's own" if name in sys.stdlib_module_names else "the installed"
    return f"{spec.origin} is not used: evalmark needs {whose} module {name!r}. Rename the file if it is meant."


def _import_comes_from(places: Iterable[str]) -> bool:
    """Whether the import that is under way stands in a file of one of these places."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return Path(frame.f_code.co_filename).is_relative_to(next(iter(places)) or Path.cwd())


@lru_cache(maxsize=1)
def _python_folders() -> tuple[str, ...]:
    """Where the modules of Python itself lie."""
    home = Path(os.__file__).parent
    zipped = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    own = (str(home), str(home / "lib-dynload"), str(Path(sys.base_prefix) / "DLLs"))
    return (*own, *(place for place in sys.path if Path(place).name == zipped))


@lru_cache(maxsize=1)
def _package_folder() -> str:
    """The folder that this package lies in."""
    return str(Path(__file__).parents[3])


@lru_cache(maxsize=256)
def _provider(name: str) -> "Distribution | None":
    """The distribution that installs a module which evalmark requires; None where it requires none of that name."""
    return next((distribution for distribution in _requirements() if provides_module(distribution, name)), None)


@lru_cache(maxsize=1)
def _requirements() -> "tuple[Distribution, ...]":
    """What evalmark requires, with its extras and with what all that requires, as far as it is installed.

    Looked up only once a user's folder offers a module that no part of Python is called.
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
    """What may be installed beside evalmark and is asked by it; its makers' tools are not."""
    own = installed_distribution(_PACKAGE)
    extras = () if own is None else own.metadata.get_all("Provides-Extra") or ()
    return frozenset(map(normalized_name, extras)) - {_DEVELOPMENT_EXTRA}


def installed_distribution(name: str) -> "Distribution | None":
    """The distribution of a name; one in a user's folder only where there is no other."""
    library = need("importlib.metadata")  # it takes longer to load than all the rest of this
    places = [
        _package_folder(),
        *sorted((place for place in sys.path if place not in _GUARD.users), key=_GUARD.is_users),
    ]
    found: Distribution | None = next(iter(library.Distribution.discover(name=name, path=places)), None)
    return found


def is_installed_entry_point(entry: "EntryPoint") -> bool:
    """Whether an entry point belongs to an installed package, and was not only found among the files beside a suite."""
    if entry.dist is None:
        return False
    place = str(entry.dist.locate_file(""))
    return place not in _GUARD.users and place not in ("", ".", str(Path.cwd()))


def _requirements_of(distribution: "Distribution", extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The distributions that one requires with some of its extras, each with those that are wanted of it."""
    for line in distribution.requires or ():
        wanted, extra = _REQUIREMENT.match(line), _EXTRA.search(line)
        if wanted and (extra is None or normalized_name(extra[1]) in extras):
            yield (
                normalized_name(wanted[1]),
                frozenset(normalized_name(name.strip()) for name in (wanted[2] or "").split(",") if name),
            )


def _shadowing_names(folder: Path) -> Iterator[str]:
    """The names of modules in a folder that are installed too."""
    try:
        names = {entry.removesuffix(".py") for entry in os.listdir(folder)}  # noqa: PTH208  names are all that is wanted
    except OSError:
        return
    elsewhere = [place for place in sys.path if not _GUARD.is_users(place)]
    for name in names - sys.stdlib_module_names:
        if name.isidentifier() and PathFinder.find_spec(name, elsewhere) is not None:
            yield name
