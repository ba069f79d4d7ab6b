"""Which code a file may name: code in the file's folders, in their projects, or in an allowed package.

This protects against a data file from somebody else, such as a suite that names `os:system`. It does not protect
against a folder with Python files: running those means trusting them.
"""

import functools
import inspect
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule, need

from .allowed_folders import AllowedFolders
from .entry_points import entry_points
from .import_guard import installed_distribution, normalized_name, provides_module

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = LazyModule("tomllib")

IMPORTED_SUITE_SCORERS = frozenset(
    (
        "evalmark.scorers:Assertions",
        "evalmark.scorers:JudgedAssertions",
        "evalmark.scorers:NodeAssertion",
        "evalmark.scorers:OpenAIGrader",
        "evalmark.scorers:OpenAIModelGrader",
        "evalmark.scorers:PromptfooAssertion",
        "evalmark.scorers:PythonAssertion",
        "evalmark.scorers:RegistryClassify",
        "evalmark.scorers:RegistryMatch",
        "evalmark.scorers:SimilarAssertions",
    )
)
"""The scorers that `evalmark import` writes into suites."""
_SCORER_PACKAGES = (
    "evalmark.prompts.metrics",
    "evalmark.scoring.binding",
    "evalmark.scoring.builtin",
    "evalmark.scoring.judges",
)
"""The packages of evalmark whose classes a user's module may re-export."""
_FRAMEWORKS = frozenset(
    ("agents", "dspy", "evalmark", "langchain_core", "langgraph", "pydantic_ai", "sentence_transformers")
)
"""Frameworks whose objects are composed by the user: a chain, a program or an agent counts as the user's own."""


def check_module_allowed(called: str, module: str, folders: AllowedFolders) -> None:
    """Refuse a module that a file may not name. Neither the module nor its parents are imported.

    Args:
        called: begins the message, such as `target 'app:run'`.
        module: the dotted name.
        folders: the folders of the file.

    Raises:
        ConfigError: the module lies elsewhere.
    """
    for part, spec in _specs(module):
        is_namespace = spec.origin is None and spec.submodule_search_locations is not None  # it has no code
        if not is_namespace and not _is_allowed(part, file := _spec_file(spec), folders):
            raise ConfigError(_refusal(called, part, file, folders))


def is_installed_scorer(name: str) -> bool:
    """Tell whether an object is an entry point of an installed package, or a scorer that `evalmark import` writes."""
    if name in IMPORTED_SUITE_SCORERS:
        return True
    return any(entry.object_name == name and entry.is_installed for entry in entry_points("evalmark."))


def check_object_allowed(called: str, steps: list[Any], folders: AllowedFolders) -> None:
    """Refuse an object that an allowed module only imports; `steps` are the module and its attributes up to the object.

    Raises:
        ConfigError: the object is defined elsewhere.
    """
    for step in steps:
        if inspect.ismodule(step) and not _is_allowed_module(step, folders):
            raise ConfigError(_refusal(called, step.__name__, _file_of(step), folders))
    thing = steps[-1]
    if inspect.ismodule(thing) or not (callable(thing) or type(thing).__module__ != "builtins"):
        return  # a module or plain data is never called; other checks report what is wrong with it
    home, is_own = _defining_module(thing, folders)
    if not is_own:
        raise ConfigError(_refusal(called, home, _file_of(sys.modules.get(home)), folders))


def _is_allowed_module(module: ModuleType, folders: AllowedFolders) -> bool:
    file = _file_of(module)
    is_namespace = file is None and hasattr(module, "__path__")
    return is_namespace or _is_allowed(module.__name__, file, folders)


def _defining_module(thing: Any, folders: AllowedFolders) -> tuple[str, bool]:
    """Return the module that defines an object, and whether a file may name that object."""
    thing = _unwrapped(thing)
    owner = getattr(thing, "__self__", None)
    if owner is None or inspect.ismodule(owner):
        owner = thing
    if owner is not thing and inspect.isroutine(thing):  # a method of an object or of a class
        home = _module_name(thing)
        if home and _is_defined_in(home, thing, folders):
            return home, True
    if isinstance(owner, type) or inspect.isroutine(owner):
        home = _module_name(owner)
        return home, _is_defined_in(home, owner, folders) or (isinstance(owner, type) and _is_scorer(home))
    home = type(owner).__module__
    return home, _is_defined_in(home, type(owner), folders) or _is_framework_object(type(owner))


def _is_defined_in(home: str, thing: Any, folders: AllowedFolders) -> bool:
    function = thing.__func__ if inspect.ismethod(thing) else thing
    if isinstance(function, FunctionType) and home not in sys.modules:
        return folders.contains_code(Path(function.__code__.co_filename))
    return _is_allowed(home, _file_of(sys.modules.get(home)), folders)


def _is_scorer(home: str) -> bool:
    return any(home == package or home.startswith(f"{package}.") for package in _SCORER_PACKAGES)


def _is_framework_object(kind: type) -> bool:
    return any(base.__module__.partition(".")[0] in _FRAMEWORKS for base in kind.__mro__)


def _unwrapped(thing: Any) -> Any:
    """Return the function inside decorators and partials."""
    seen: set[int] = set()
    while id(thing) not in seen:
        seen.add(id(thing))
        if isinstance(thing, (functools.partial, functools.partialmethod)):
            thing = thing.func
        elif "__wrapped__" in getattr(thing, "__dict__", ()) or any(
            "__wrapped__" in vars(k) for k in type(thing).__mro__
        ):
            thing = thing.__wrapped__
    return thing


def _module_name(thing: Any) -> str:
    owner = getattr(thing, "__objclass__", None)  # of a method that is written in C
    return str(getattr(thing, "__module__", None) or getattr(owner, "__module__", None) or "builtins")


def _file_of(module: ModuleType | None) -> str | None:
    found = getattr(module, "__file__", None)
    return found if isinstance(found, str) else None


def _is_allowed(module: str, file: str | None, folders: AllowedFolders) -> bool:
    if _is_allowed_package(module, folders.allow_code):
        return True
    if file is None:
        return False
    return folders.contains_code(Path(file)) or _is_in_project_distribution(module, Path(file), folders)


def _is_allowed_package(module: str, packages: tuple[str, ...]) -> bool:
    return any(
        module == name or module.startswith(f"{name}.") for name in (package.replace("-", "_") for package in packages)
    )


def _is_in_project_distribution(module: str, file: Path, folders: AllowedFolders) -> bool:
    """Tell whether a module was installed by the distribution of the current project."""
    distribution = _distribution_at(folders.project) if folders.project is not None else None
    if distribution is None or not file.is_relative_to(str(distribution.locate_file(""))):
        return False
    return provides_module(distribution, module.partition(".")[0])


@functools.lru_cache(maxsize=8)
def _distribution_at(root: Path) -> Any:
    """Return the installed distribution of a project; None if there is none."""
    try:
        data = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return None
    project = data.get("project")
    name = project.get("name") if isinstance(project, dict) else None
    return installed_distribution(normalized_name(name)) if isinstance(name, str) and name else None


def _specs(module: str) -> Iterator[tuple[str, ModuleSpec]]:
    """Yield the specs of the parent packages and the module, as an import would find them, as far as they are known."""
    path: Any = None
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        spec = _spec(name, path)
        if spec is None:
            return
        yield name, spec
        path = spec.submodule_search_locations
        if path is None:
            return


def _spec(name: str, path: Any) -> ModuleSpec | None:
    if name in sys.modules:
        found: ModuleSpec | None = getattr(sys.modules[name], "__spec__", None)
        return found or ModuleSpec(name, None, origin="a module without a location")
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        try:
            spec: ModuleSpec | None = None if find is None else find(name, path, None)
        except KeyError:  # a namespace inside a namespace that is not imported
            spec = _spec_in_folders(name, path)
        if spec is not None:
            return spec
    return None


def _spec_in_folders(name: str, folders: Iterable[str] | None) -> ModuleSpec | None:
    """Find a module or namespace in folders without importing its parents."""
    portions: list[str] = []
    for folder in folders or ():
        finder = need("pkgutil").get_importer(folder)
        spec: ModuleSpec | None = finder.find_spec(name) if finder is not None else None
        if spec is not None and spec.loader is not None:
            return spec
        portions += (spec.submodule_search_locations or ()) if spec is not None else ()
    if not portions:
        return None
    found = ModuleSpec(name, None, is_package=True)
    found.submodule_search_locations = portions
    return found


def _spec_file(spec: ModuleSpec) -> str | None:
    """Return the file of a module; None if it is built in, frozen or generated."""
    return spec.origin if spec.has_location else None


def _refusal(called: str, module: str, where: str | None, folders: AllowedFolders) -> str:
    package = module.partition(".")[0]
    location = f" in {where}" if where else ""
    roots = ", ".join(map(str, folders.roots))
    return (
        f"{called} is defined in the module {module}{location}, and a file may name only code that is defined in its folder or "
        f"in its project ({roots}). Write a function there that calls it; or, where you trust the package, allow it: "
        f'--allow-code {package}, or allow_code = ["{package}"] under [tool.evalmark] in your pyproject.toml.'
    )
