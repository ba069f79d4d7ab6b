"""Load objects that a user names as `package.module:attribute`."""

import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError

from .allowed_folders import AllowedFolders
from .code_access import check_module_allowed, check_object_allowed, is_installed_scorer
from .import_guard import guard_imports, unused_module_note


def is_named_object(text: str) -> bool:
    r"""Tell whether a text has the form `package.module:attribute`.

    >>> is_named_object("my_app.bot:answer"), is_named_object("equals"), is_named_object("C:\\\\x.json")
    (True, False, False)
    """
    module, colon, attribute = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))


def load_object(name: str, folders: Sequence[Path] = (), *, what: str = "object") -> Any:
    """Import the object that `package.module:attribute` names.

    Args:
        name: the module and the attribute.
        folders: searched for the module, in order. They stay on the import path, since the module may import its
            neighbours later. `AllowedFolders` (of a file) also restrict which objects may be named.
        what: names the object in messages.

    Raises:
        ConfigError: the name has another form, the module or attribute is missing or broken, or the file may not name it.
    """
    if not is_named_object(name):
        raise ConfigError(f"{what} {name!r} is not of the form 'package.module:attribute'.")
    module, _, attribute = name.partition(":")
    limited = folders if isinstance(folders, AllowedFolders) and not is_installed_scorer(name) else None
    try:
        check_object_module(name, folders, what=what)
        steps = _import_steps(name, module, attribute, what, folders)
        if limited is not None:
            check_object_allowed(f"{what} {name!r}", steps, limited)
    except ConfigError as fault:
        if hint := unused_module_note(module.partition(".")[0], folders):
            raise ConfigError(f"{fault} {hint}") from fault
        raise
    return steps[-1]


def check_object_module(name: str, folders: Sequence[Path], *, what: str = "object") -> None:
    """Refuse an object whose module a file may not name, and put `folders` on the import path. Nothing is imported.

    Raises:
        ConfigError: a file names the object, and it lies elsewhere.
    """
    add_import_folders(folders)
    if isinstance(folders, AllowedFolders) and not is_installed_scorer(name):
        check_module_allowed(f"{what} {name!r}", name.partition(":")[0], folders)


def add_import_folders(folders: Sequence[Path]) -> None:
    """Put folders at the front of the import path; evalmark's own requirements still take precedence."""
    guard_imports(folders)
    for folder in reversed([*map(str, folders)]):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    # `importlib.invalidate_caches` would load `importlib.metadata`, from Python 3.13 on.
    for finder in list(sys.path_importer_cache.values()):
        if finder is not None and hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()


def _check_loaded_module(module: str, folders: Sequence[Path]) -> None:
    """Raise _UnusableError if the loaded module is not the one in its folder: several suites may each have a `bot.py`."""
    origin = getattr(sys.modules.get(module), "__file__", None)
    files = (path for folder in folders for path in (folder / module / "__init__.py", folder / f"{module}.py"))
    own = next((path for path in files if path.is_file()), None)
    if own is None or origin is None or own.resolve() == Path(origin).resolve() or unused_module_note(module, folders):
        return
    raise _UnusableError(
        f"{own} is not used, since {origin} is loaded under the same name; run the suites one at a time, or rename one of "
        "the two modules."
    )


def _import_steps(name: str, module: str, attribute: str, what: str, folders: Sequence[Path]) -> list[Any]:
    try:
        steps = [importlib.import_module(module)]
        _check_loaded_module(module.partition(".")[0], folders)
        for step in attribute.split("."):
            steps.append(_attribute(steps[-1], step))
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != module.partition(".")[0]:
            raise ConfigError(
                f"{what} {name!r}: {_place(missing, folders) or module} imports {missing.name!r}, which is not installed; "
                "install it in the environment of evalmark, or check the name."
            ) from missing
        where = ", ".join(dict.fromkeys(map(str, folders)))
        places = f", neither in {where} nor among what is installed" if where else " on the import path"
        raise ConfigError(
            f"{what} {name!r}: there is no module {missing.name!r}{places}; PYTHONPATH adds other folders."
        ) from missing
    except _UnusableError as unusable:
        raise ConfigError(f"{what} {name!r}: {unusable}") from unusable
    except (Exception, SystemExit) as broken:  # the user's module runs here; a script may end with SystemExit
        place = f" ({place})" if (place := _place(broken, folders)) else ""
        raise ConfigError(f"{what} {name!r}: importing it raised {type(broken).__name__}: {broken}{place}.") from broken
    return steps


def _place(error: BaseException, folders: Sequence[Path]) -> str:
    """Return file and line in the user's folders where an error was raised; empty if it was not raised there."""
    found, trace = "", error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if any(path.is_relative_to(folder) for folder in folders) and not path.is_relative_to(sys.prefix):
            found = f"{path.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


class _UnusableError(LookupError):
    """The attribute does not exist, or another module of the same name is loaded."""


def _attribute(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name)
    except AttributeError as missing:
        close = get_close_matches(name, [known for known in dir(thing) if not known.startswith("_")], n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise _UnusableError(f"{missing}{hint}") from missing
