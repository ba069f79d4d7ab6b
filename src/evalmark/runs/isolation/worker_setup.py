"""The setup of a worker process: its configuration, its targets, and its import path."""

import multiprocessing
import os
import pickle
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.named_objects import add_import_folders, is_named_object
from evalmark.core.foreign.threads import DaemonThreads
from evalmark.core.protocols import Target
from evalmark.runs.targets.agent import AgentTarget
from evalmark.runs.targets.function import ClassTarget, FunctionTarget, as_target
from evalmark.runs.targets.program import ProgramTarget

if TYPE_CHECKING:
    from evalmark.core.context.tool_replay import ToolMode

UserTarget = FunctionTarget | ClassTarget | ProgramTarget | AgentTarget
"""Targets that run the user's code; models and prompts stay in the process of the run."""
FILES_CLOSED = 113
"""The exit status of a worker that cannot report its output, since a target closed its files."""
_DEFINE_AT_TOP = "define it at the top of a module, or name it as 'module:attribute'."
_COMMAND = "evalmark.cli"
_SAFE_PATH = "PYTHONSAFEPATH"
MAIN_GUARD = 'in a script, put calls of evaluate() under `if __name__ == "__main__":`'


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRecipe:
    """How a worker creates a target."""

    name: str
    pickled: bytes | None
    """The pickled target, or None to import it by its name."""

    def target(self) -> Target:
        """Create the target. Foreign code: may raise anything."""
        if self.pickled is None:
            return as_target(self.name)
        try:
            target: Target = as_target(pickle.loads(self.pickled))  # noqa: S301  made by `_recipe` in the process of the run
        except (AttributeError, ImportError) as error:
            raise ConfigError(f"{error}; {_DEFINE_AT_TOP}") from error
        return target


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """The configuration of a worker."""

    recipes: tuple[TargetRecipe, ...]
    tools: "ToolMode"
    """How tool recordings are used."""
    parent: int
    """The id of the process of the run."""
    path: tuple[str, ...]
    """The import path of the process of the run."""
    users: tuple[str, ...]
    """The entries of `path` that hold the user's modules."""
    safe_path: str | None = field(default_factory=lambda: os.environ.get(_SAFE_PATH))
    """The value of PYTHONSAFEPATH in the process of the run, restored for programs that targets start; None: not set."""


class _Path(list[str]):
    """An import path whose copy for a new process holds only a part of it."""

    def __init__(self, places: Iterable[str], entries: Collection[str]) -> None:
        super().__init__(places)
        self._kept = entries

    def copy(self) -> list[str]:
        """Return the part for a new process."""
        return [entry for entry in self if entry in self._kept]


@contextmanager
def without_user_paths(users: Collection[str]) -> Iterator[None]:
    """Start processes that import evalmark's dependencies before they look into the user's folders, as this process did.

    A script of the user that a worker runs again is loaded first, and can import its neighbours.
    """
    before, safe = sys.path, os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"  # otherwise Python searches the working directory first
    if getattr(getattr(sys.modules["__main__"], "main", None), "__module__", "") == _COMMAND:
        sys.path = _Path(before, [entry for entry in before if entry not in users])
    try:
        yield
    finally:
        sys.path = before
        _set_back(safe)


def _set_back(safe: str | None) -> None:
    if safe is None:
        os.environ.pop(_SAFE_PATH, None)
    else:
        os.environ[_SAFE_PATH] = safe


def set_import_path(config: WorkerConfig) -> None:
    """In a worker: use the import path of the process of the run."""
    add_import_folders([Path(entry) for entry in config.users])
    sys.path[:] = config.path
    _set_back(config.safe_path)


def recipes_for(targets: Sequence[Target]) -> tuple[TargetRecipe, ...]:
    """Return recipes for the targets that run the user's code.

    Raises:
        ConfigError: a target cannot be pickled.
    """
    return tuple(_recipe(target) for target in targets if isinstance(target, UserTarget))


def _recipe(target: UserTarget) -> TargetRecipe:
    user_object = _thing(target)
    if _is_found_by_name(target.name, user_object):
        return TargetRecipe(name=target.name, pickled=None)
    try:
        target_object = (
            replace(target, threads=DaemonThreads())
            if isinstance(target, FunctionTarget | ProgramTarget)
            else user_object
        )
        return TargetRecipe(name=target.name, pickled=pickle.dumps(target_object))
    except Exception as error:
        raise ConfigError(
            f"--isolate: the target {target.name!r} cannot be sent to a worker process ({type(error).__name__}: {error}). "
            f"{_DEFINE_AT_TOP[0].upper()}{_DEFINE_AT_TOP[1:]}"
        ) from error


def _thing(target: UserTarget) -> Any:
    """Return the user's object behind a target."""
    if isinstance(target, FunctionTarget):
        return target.function
    if isinstance(target, ClassTarget):
        return target.kind
    return target.program if isinstance(target, ProgramTarget) else target.agent


def _is_found_by_name(name: str, user_object: Any) -> bool:
    """Whether importing the name gives the same object in any process."""
    module, _, attribute = name.partition(":")
    if not is_named_object(name) or module == "__main__" or module not in sys.modules:
        return False
    value: Any = sys.modules[module]
    for part in attribute.split("."):
        value = getattr(value, part, None)
    return value is not None and (value is user_object or value is getattr(user_object, "__self__", None))


def refuse_while_spawning() -> None:
    """Raise ConfigError in a worker that is still importing the user's script."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ConfigError(f"A worker process reached a call of evaluate() while it imported the script; {MAIN_GUARD}.")
