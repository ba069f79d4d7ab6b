"""The folder in which a program under test works: a copy for each trial, and what the program has changed in it."""

import contextlib
import difflib
import filecmp
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MAX_DIFF = 200_000
"""Characters of the changes in a workspace that are kept."""
MAX_DIFF_FILE = 1 << 20
"""Bytes; the changes of a larger file are not kept, only that it changed."""
_PIECE = 1 << 16


def copy_workspace(original: Path, copy: Path) -> None:
    """Copy a folder with its symbolic links, without pipes, sockets and devices. Raises OSError."""
    shutil.copytree(original, copy, symlinks=True, ignore=_special_files)


def _special_files(folder: str, names: list[str]) -> list[str]:
    """Return the pipes, sockets and devices in a folder, which cannot be copied."""
    kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    return [name for name in names if not any(is_kind(Path(folder, name).lstat().st_mode) for is_kind in kinds)]


def remove_workspace(folder: Path) -> None:
    """Remove a folder, even if a program made folders in it read-only."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):
            Path(path).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files and the symbolic links in a folder; links are not followed."""
    for path in sorted(folder.rglob("*")):
        if (path.is_symlink() or path.is_file()) and ".git" not in path.relative_to(folder).parts:
            yield path.relative_to(folder).as_posix(), path


def file_stamps(folder: Path) -> dict[str, Any]:
    """Return kind, size and time of each file, which tell which ones a program has written."""
    return {
        name: (stat.S_IFMT(status.st_mode), status.st_size, status.st_mtime_ns)
        for name, path in _files(folder)
        for status in [path.lstat()]
    }


def workspace_changes(original: Path, copy: Path, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return which files of a workspace were added, changed and deleted, and the difference of their texts."""
    now = file_stamps(copy)
    kinds = {name: "deleted" for name in before if name not in now}
    kinds |= {name: "added" for name in now if name not in before}
    kinds |= {
        name: "changed"
        for name in now
        if name in before and now[name] != before[name] and _differ(original / name, copy / name)
    }
    diff = ""
    for name in sorted(kinds):
        diff += _diff(original / name, copy / name, name)
        if len(diff) > MAX_DIFF:
            diff = f"{diff[:MAX_DIFF]}\n(The rest is left out: more than {MAX_DIFF:,} characters.)\n"
            break
    return {"files": dict(sorted(kinds.items())), "diff": diff} if kinds else {}


def _differ(before: Path, after: Path) -> bool:
    if before.is_symlink() or after.is_symlink():
        return _content(before) != _content(after)
    return not filecmp.cmp(before, after, shallow=False)


def _diff(before: Path, after: Path, name: str) -> str:
    paths = [path for path in (before, after) if path.is_symlink() or path.is_file()]
    if any(path.lstat().st_size > MAX_DIFF_FILE for path in paths):
        return f"File {name} differs; it is larger than {MAX_DIFF_FILE >> 20} MiB\n"
    texts = [_content(path) if path in paths else b"" for path in (before, after)]
    if any(b"\0" in text for text in texts):
        return f"Binary file {name} differs\n"
    old, new = (text.decode("utf-8", errors="replace").splitlines(keepends=True) for text in texts)
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _content(path: Path) -> bytes:
    """Return the content of a file, or where a symbolic link leads: what is there may be no part of the workspace."""
    return f"link to {path.readlink()}\n".encode(errors="replace") if path.is_symlink() else path.read_bytes()


def content_hash(paths: Sequence[Path | None]) -> str:
    """Return a hash of files, and of the files and links in folders; what does not exist is left out."""
    digest = hashlib.sha256()
    for path in paths:
        if path is None or not path.exists():
            continue
        for name, file in [(path.name, path)] if path.is_file() else _files(path):
            is_link = file.is_symlink() and file is not path
            size = file.lstat().st_size if is_link else file.stat().st_size
            digest.update(f"{name}\0{size}\0".encode(errors="surrogatepass"))
            if is_link:
                digest.update(_content(file))
                continue
            with file.open("rb") as content:
                while piece := content.read(_PIECE):
                    digest.update(piece)
    return digest.hexdigest()[:16]
