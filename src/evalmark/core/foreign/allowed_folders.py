"""What a file may name: the folders in which its names are looked up, and how far these reach."""

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

PROJECT_FILES = ("pyproject.toml", ".git")
"""What lies at the root of a project."""
_INSTALLED_FOLDERS = frozenset(("site-packages", "dist-packages", "node_modules", "__pypackages__", ".venv"))
"""Folders below a project whose code is not the project's own."""
_ENVIRONMENT_FILES = ("pyvenv.cfg", "conda-meta")
"""What lies at the root of a virtual environment."""


class AllowedFolders(tuple[Path, ...]):
    """The folders in which the names of a file are looked up, the first of which counts first.

    A file may come from somebody else, so its names reach only what lies in these folders or in their projects.
    Any other sequence of folders goes with a name that the user said on the command line or in Python.
    """

    allow_code: tuple[str, ...]
    """Packages whose code a file may name too."""

    def __new__(cls, folders: Iterable[Path], allow_code: Iterable[str] = ()) -> "AllowedFolders":
        """The folders, and the packages that the user allows."""
        made = super().__new__(cls, folders)
        made.allow_code = tuple(allow_code)
        return made

    @cached_property
    def roots(self) -> tuple[Path, ...]:
        """The folders and the roots of their projects, links followed."""
        return project_roots(self)

    @property
    def project(self) -> Path | None:
        """The root of the project that the command is run in: the last folder is the working directory."""
        return project_root(self[-1]) if self else None

    @property
    def outside_message(self) -> str:
        """What to say of a file that lies under none of the roots, after its name."""
        return f"lies outside of {', '.join(map(str, self.roots))}, and a file names nothing else; copy it there"

    def contains(self, path: Path) -> bool:
        """Whether a file lies under one of the roots, links followed."""
        real = real_path(path)
        return real is not None and any(real.is_relative_to(root) for root in self.roots)

    def contains_code(self, path: Path) -> bool:
        """Whether a file lies there and is no part of Python, of a virtual environment or of installed packages."""
        real = real_path(path)
        return real is not None and any(
            real.is_relative_to(root) and not _is_installed_code(real, root) for root in self.roots
        )


def project_roots(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The folders and the roots of their projects, links followed."""
    found = [real for folder in folders if (real := real_path(folder)) is not None]
    return tuple(dict.fromkeys((*found, *(root for folder in found if (root := project_root(folder)) is not None))))


def project_root(folder: Path) -> Path | None:
    """The nearest folder from here upwards with a `pyproject.toml` or a `.git`; None where there is none.

    The home folder and what is above it are never a project: everything that the user has would be part of it.
    """
    real, home = real_path(folder), real_path(Path(os.path.expanduser("~")))  # noqa: PTH111  raises nothing where there is no home
    if real is None:
        return None
    root = next(
        (place for place in (real, *real.parents) if any(os.path.lexists(place / mark) for mark in PROJECT_FILES)), None
    )
    return None if root is None or (home is not None and home.is_relative_to(root)) else root


def real_path(path: Path) -> Path | None:
    """The path with every link followed; None where it is no path at all, or leads in a circle."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError, RuntimeError):
        return None


def _python_folder() -> Path:
    """Where the modules of Python itself lie."""
    return Path(os.path.realpath(os.path.dirname(os.__file__)))  # noqa: PTH120  as Python says it


def _is_installed_code(path: Path, root: Path) -> bool:
    """Whether a file below a root is part of Python, in a virtual environment or among installed packages."""
    python = _python_folder()
    if path.is_relative_to(python) and not root.is_relative_to(python):
        return True
    inner = path.relative_to(root).parts[:-1]
    folders = [root.joinpath(*inner[: end + 1]) for end in range(len(inner))]
    if any(folder.name.lower() in _INSTALLED_FOLDERS for folder in folders):
        return True
    return any(os.path.lexists(folder / mark) for folder in folders for mark in _ENVIRONMENT_FILES)
