"""Write the suites of an import into a folder, with IMPORT.md, which says what became of each part of the files."""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evalmark.cli.commands.file_checks import validate
from evalmark.core.errors import ConfigError
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.interop.shared.import_result import ImportResult
from evalmark.reports.files.import_markdown import FILE_ROW, REPORT, import_markdown, report_hash

if TYPE_CHECKING:
    from evalmark.core.settings import Settings

Rewrite = Literal["refuse", "update", "force"]
"""What happens to files that exist: nothing is written; files of an earlier import are replaced unless they were edited;
all are overwritten."""


def write_suites(
    imported: ImportResult, folder: Path, rewrite: Rewrite, *, source: tuple[str, str], settings: "Settings"
) -> list[str]:
    """Write the files of an import, if `validate` accepts its suites, and return their names.

    Args:
        imported: the result of the import.
        folder: the folder to write to; it may exist.
        rewrite: what happens to files that exist.
        source: the format, and the path that was imported, for the report.
        settings: the settings that the suites are validated with.

    Raises:
        ConfigError: a file exists and may not be replaced, or a suite cannot be run; nothing is written.
    """
    stale = _check_existing(folder, (*imported.files, REPORT), rewrite)
    files = {**imported.files, REPORT: import_markdown(imported, source)}
    with _draft(folder, files) as draft:
        faults = [fault for name in imported.suites for fault in validate(draft / name, settings)]
        if faults:
            messages = [fault.replace(f"{draft}/", f"{folder}/") for fault in dict.fromkeys(faults)]
            raise ConfigError.of([f"{source[1]}: nothing is imported, because the suite cannot be run:", *messages])
        _put(draft, folder, files)
    for name in stale:
        (folder / name).unlink(missing_ok=True)
    return list(files)


def _check_existing(folder: Path, names: Iterable[str], rewrite: Rewrite) -> list[str]:
    """Refuse files that may not be replaced; return the unchanged files of an earlier import that no longer come."""
    existing = [name for name in names if os.path.lexists(folder / name)]
    if rewrite == "refuse":
        if existing:
            raise ConfigError(
                f"{folder / existing[0]}: the file exists already; name another folder with -o, replace an earlier "
                "import with --update, or overwrite files with --force."
            )
        return []
    earlier = _earlier_files(folder)
    edited = [name for name in existing if not _is_unchanged(folder, name, earlier)]
    if rewrite == "update" and not earlier:
        raise ConfigError(f"{folder / REPORT}: there is no earlier import to update; leave --update out.")
    if rewrite == "update" and edited:
        raise ConfigError(
            f"{folder / edited[0]}: was edited since the import, or does not come from it; nothing is imported. "
            "Import into another folder and merge your changes, or overwrite it with --force."
        )
    return [name for name in earlier if name not in set(names) and _is_unchanged(folder, name, earlier)]


def _earlier_files(folder: Path) -> dict[str, str]:
    """Return the files that an earlier import wrote, each with the hash of its content."""
    try:
        text = (folder / REPORT).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return dict(re.findall(FILE_ROW, text, re.MULTILINE))


def _is_unchanged(folder: Path, name: str, earlier: Mapping[str, str]) -> bool:
    path = folder / name
    if name not in earlier or not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        return False
    if name == REPORT:
        return report_hash(path.read_text(encoding="utf-8")) == earlier[name]
    return hashlib.sha256(path.read_bytes()).hexdigest() == earlier[name]


@contextmanager
def _draft(folder: Path, files: Mapping[str, str]) -> Iterator[Path]:
    """Write the files into a temporary folder beside the final one, and delete it afterwards."""
    above = next(above for above in folder.absolute().parents if above.is_dir())
    draft = above / f".{folder.name[:100]}.{secrets.token_hex(4)}"
    try:
        for name, text in files.items():
            write_atomically(draft / name, [text])
            if text.startswith("#!"):  # a program that a suite names
                (draft / name).chmod(0o755)
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put(draft: Path, folder: Path, files: Mapping[str, str]) -> None:
    """Move the files to the final folder, in one step if it does not exist yet."""
    for cache in [*draft.rglob("__pycache__")]:
        shutil.rmtree(cache, ignore_errors=True)
    if not os.path.lexists(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft.rename(folder)
        return
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (draft / name).replace(folder / name)


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write new files into a folder.

    Raises:
        ConfigError: one of the files exists already.
    """
    existing = [name for name in files if os.path.lexists(folder / name)]
    if existing:
        raise ConfigError(f"{folder / existing[0]}: the file exists already; name another folder with -o.")
    for name, text in files.items():
        write_atomically(folder / name, [text])
