"""Find the suites of a command that names none, or that names a folder."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.settings import Settings

if TYPE_CHECKING:
    from evalmark.cli.commands import file_checks
else:
    file_checks = LazyModule("evalmark.cli.commands.file_checks")

DEFAULT_SUITES = ("evalmark.yaml", "evalmark.yml", "evalmark.json")
"""The suite of a folder, if a command names none."""
DEFAULT_FOLDER = "evals"
"""The folder of suites, if there is no such file."""
_FOREIGN_FOLDERS = frozenset(("node_modules", "site-packages", "venv", "__pycache__"))
_NAMES_DATASETS = re.compile(r"""^(?:["']?datasets["']?|\s*"datasets")\s*:""", re.MULTILINE)
_SEARCHED_CHARACTERS = 65_536


def find_suites(named: Sequence[Path], settings: Settings) -> list[Path]:
    """Return the suites of a command: those named, or else those of the settings, `evalmark.yaml`, or `evals/`.

    A folder means all suites in it and below, in the order of their paths.

    Raises:
        ConfigError: no suite is named and none is found, or a folder or pattern has none.
    """
    places = [*named] or [path for text in settings.suites for path in _matching(text)]
    if not places:
        places = [path for name in DEFAULT_SUITES if (path := Path(name)).is_file()][:1]
    if not places and Path(DEFAULT_FOLDER).is_dir():
        places = [Path(DEFAULT_FOLDER)]
    if not places:
        raise ConfigError(
            f"No suite is named, and this folder has no {DEFAULT_SUITES[0]}; name a suite, "
            "or write an example with: evalmark init"
        )
    return list(dict.fromkeys(suite for place in places for suite in _in_place(place)))


def with_files(arguments: Sequence[str], named: Sequence[Path], files: Sequence[Path]) -> list[str]:
    """Return the arguments of a command with the files of its folders, so that each file can be left out of a repetition.

    The arguments of a command that names no suite and finds one are unchanged.
    """
    folders = [str(path) for path in named if path.is_dir()]
    if not folders and (named or len(files) == 1):
        return list(arguments)
    kept = [word for word in arguments if word not in folders and word.rstrip(os.sep) not in folders]
    return [*kept, *(str(file) for file in files if str(file) not in kept)]


def _matching(text: str) -> list[Path]:
    """Return the path that a setting names, or the paths that match its pattern."""
    path = Path(text)
    if not any(sign in text for sign in "*?[") or path.exists():
        return [path]
    matching = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))
    if not matching:
        raise ConfigError(f"[tool.evalmark] suites: no file or folder matches {text!r}.")
    return matching


def _in_place(path: Path) -> list[Path]:
    """Return the suites in a folder, or the file itself: what it is, its reader finds out."""
    if not path.is_dir():
        return [path]
    suites = [file for file in _files_below(path) if _is_suite(file)]
    if not suites:
        raise ConfigError(f"{path}: the folder has no suite, that is, no YAML or JSON file with `datasets`.")
    return suites


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder in the order of their paths, without hidden folders and installed packages."""
    for name, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(_own_folders(Path(name), folders))
        yield from (Path(name, file) for file in sorted(files) if not file.startswith("."))


def _own_folders(parent: Path, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if not name.startswith(".") and name not in _FOREIGN_FOLDERS and not (parent / name / "pyvenv.cfg").exists():
            yield name


def _refuse(error: OSError) -> None:
    raise ConfigError(f"{error.filename}: the folder cannot be read: {error.strerror}.")


def _is_suite(path: Path) -> bool:
    """Return whether a file is a suite; one that cannot be parsed is if its text names datasets, so that it is reported."""
    if path.suffix.lower() not in file_checks.SUITE_ENDINGS:
        return False
    kind = file_checks.kind_of_file(path)
    return kind == "suite" or (kind == "cases" and bool(_NAMES_DATASETS.search(_beginning(path))))


def _beginning(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(_SEARCHED_CHARACTERS)
    except OSError:
        return ""
