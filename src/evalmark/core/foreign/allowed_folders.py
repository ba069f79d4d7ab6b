"""The folders in which the names of a file are looked up, and what else the file may reach."""

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

PROJECT_FILES = ("pyproject.toml", ".git")
"""Files and folders at the root of a project."""
_INSTALLED_FOLDERS = frozenset(("site-packages", "dist-packages", "node_modules", "__pypackages__", ".venv"))
"""Folders below a project with code of others."""
_ENVIRONMENT_FILES = ("pyvenv.cfg", "conda-meta")
"""Files at the root of a virtual environment."""


class AllowedFolders(tuple[Path, ...]):
    """The folders in which the names of a file are looked up, in order.

    A file may come from somebody else, so it may name only what lies in these folders or their projects. A name from
    the command line or from Python comes with a plain sequence of folders instead.
    """

    allow_code: tuple[str, ...]
    """Further packages whose code a file may name."""

    def __new__(cls, folders: Iterable[Path], allow_code: Iterable[str] = ()) -> "AllowedFolders":
        """Make the value from folders, and from packages that the user allows."""
        made = super().__new__(cls, folders)
        made.allow_code = tuple(allow_code)
        return made

    @cached_property
    def roots(self) -> tuple[Path, ...]:
        """The folders and the roots of their projects, with links resolved."""
        return project_roots(self)

    @property
    def project(self) -> Path | None:
        """The root of the current project (the last folder is the working directory)."""
        return project_root(self[-1]) if self else None

    @property
    def outside_message(self) -> str:
        """The message, after the name, for a file that lies under none of the roots."""
        return f"lies outside of {', '.join(map(str, self.roots))}, and a file names nothing else; copy it there"

    def contains(self, path: Path) -> bool:
        """Tell whether a file lies under one of the roots, with links resolved."""
        real = real_path(path)
        return real is not None and any(real.is_relative_to(root) for root in self.roots)

    def contains_code(self, path: Path) -> bool:
        """Tell whether a file lies under a root and does not belong to Python, a virtual environment or a package."""
        real = real_path(path)
        return real is not None and any(
            real.is_relative_to(root) and not _is_installed_code(real, root) for root in self.roots
        )


def project_roots(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders and the roots of their projects, with links resolved."""
    found = [real for folder in folders if (real := real_path(folder)) is not None]
    return tuple(dict.fromkeys((*found, *(root for folder in found if (root := project_root(folder)) is not None))))


def project_root(folder: Path) -> Path | None:
    """Return the nearest folder, upwards, with a `pyproject.toml` or `.git`; None if there is none.

    The home folder and its parents are never a project, since that would contain all files of the user.
    """
    real, home = real_path(folder), real_path(Path(os.path.expanduser("~")))  # noqa: PTH111  raises nothing where there is no home
    if real is None:
        return None
    root = next(
        (place for place in (real, *real.parents) if any(os.path.lexists(place / mark) for mark in PROJECT_FILES)), None
    )
    return None if root is None or (home is not None and home.is_relative_to(root)) else root


def real_path(path: Path) -> Path | None:
    """Resolve every link of a path; None if the path is invalid or its links form a cycle."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError, RuntimeError):
        return None


def _python_folder() -> Path:
    return Path(os.path.realpath(os.path.dirname(os.__file__)))  # noqa: PTH120  as Python says it


def _is_installed_code(path: Path, root: Path) -> bool:
    """Tell whether a file below a root belongs to Python, a virtual environment or an installed package."""
    python = _python_folder()
    if path.is_relative_to(python) and not root.is_relative_to(python):
        return True
    inner = path.relative_to(root).parts[:-1]
    folders = [root.joinpath(*inner[: end + 1]) for end in range(len(inner))]
    if any(folder.name.lower() in _INSTALLED_FOLDERS for folder in folders):
        return True
    return any(os.path.lexists(folder / mark) for folder in folders for mark in _ENVIRONMENT_FILES)
