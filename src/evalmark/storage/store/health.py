"""Checks a store, for `evalmark doctor`."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from evalmark.core.errors import StoreError
from evalmark.storage.call_log import reply_recovery
from evalmark.storage.database.connection import Connection, FileConnection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.schema import STEPS
from evalmark.storage.database.sqlite import Notes, open_read_only_file

_SAFE_SQLITE = (3, 51, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state of a store, as `Store.check` finds it."""

    path: str
    problems: tuple[str, ...] = ()
    """What is damaged; empty if the store is sound."""
    warnings: tuple[str, ...] = ()
    """Risks that are not damage."""
    version: int = 0
    """The schema version: the number of applied migration steps."""
    sqlite: str = ""
    journal_mode: str = ""
    """SQLite's journal mode: `wal`, or another one where the file system does not support it."""
    size: int = 0
    """Bytes on disk, including the write-ahead log."""
    runs: int = 0
    results: int = 0
    vectors: int = 0
    calls: int = 0
    """Recorded calls of chat models."""
    tool_calls: int = 0
    """Recorded calls of tools."""

    @property
    def sound(self) -> bool:
        """Whether nothing is damaged."""
        return not self.problems


def examine(path: Path, notes: Notes) -> Health:
    """Read the whole store and report problems; damage is reported, not raised."""
    version = apsw.sqlite_lib_version()
    try:
        with store_errors(path), closing(open_read_only_file(path, notes)) as db:
            return _examined(path, db, version)
    except StoreError as damage:
        return Health(path=str(path), problems=(str(damage),), sqlite=version, warnings=old_sqlite(version))


def _examined(path: Path, db: FileConnection, version: str) -> Health:
    found = [str(row[0]) for row in db.execute("pragma integrity_check")]
    found += [f"{row[0]} {row[1]} belongs to no run" for row in db.execute("pragma foreign_key_check")]
    return Health(
        path=str(path),
        problems=tuple(text for text in found if text != "ok"),
        warnings=(*old_sqlite(version), *reply_recovery.problems(db, path)),
        version=len(STEPS),
        sqlite=version,
        journal_mode=str(db.pragma("journal_mode")),
        size=sum(file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.exists()),
        **_counts(db),
    )


def examine_server(db: Connection, place: StoreLocation) -> Health:
    """Count what a store on a server holds; the server itself checks its files."""
    return Health(path=str(place), version=len(STEPS), **_counts(db))


def _counts(db: Connection) -> dict[str, Any]:
    tables = {
        "runs": "run",
        "results": "result where pass > 0",
        "vectors": "vector",
        "calls": "call",
        "tool_calls": "tool_call",
    }
    return {name: int(db.execute(f"select count(*) from {table}").get) for name, table in tables.items()}  # noqa: S608


def old_sqlite(version: str) -> tuple[str, ...]:
    """Return a warning if SQLite is older than its fix of a rare corruption.

    >>> old_sqlite("3.51.3"), old_sqlite("3.54.1")
    ((), ())
    """
    if tuple(map(int, version.split("."))) >= _SAFE_SQLITE:
        return ()
    return (
        f"SQLite {version} can, rarely, damage a store that several processes write at once; update the package apsw.",
    )
