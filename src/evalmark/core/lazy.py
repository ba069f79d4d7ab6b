"""Import optional and heavy modules, and the names of public modules, when they are first used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType

from .errors import MissingExtraError


def need(module: str, extra: str = "") -> ModuleType:
    """Import a module, or raise an error that says how to install it.

    Args:
        module: the full dotted name.
        extra: the extra of evalmark that installs it; empty if evalmark itself requires it.

    Raises:
        MissingExtraError: the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] != module.split(".")[0]:
            raise
        package_name = f"'evalmark[{extra}]'" if extra else "evalmark"
        raise MissingExtraError(f"{module} is not installed. Run: pip install {package_name}") from missing


def lazy_getattr(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Make a module's `__getattr__`, which imports a public name when it is first used.

    Args:
        package: the module's `__name__`.
        modules: for each public name, the full dotted name of the module that defines it.

    Returns:
        the function to bind to `__getattr__` in the module.
    """

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, found)  # the next use does not call this function
        return found

    return load


class LazyModule:
    """A placeholder for a module, which is imported when one of its names is first used.

    It is for modules that load slowly and that most commands never use. Type checkers see the module itself:

        if TYPE_CHECKING:
            import numpy as np
        else:
            np = LazyModule("numpy")

    Args:
        name: the module's full dotted name.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> object:
        found = getattr(need(self.__name__), name)
        setattr(self, name, found)  # the next use does not call this method
        return found
