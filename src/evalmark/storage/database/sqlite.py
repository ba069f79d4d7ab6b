"""Opens SQLite files: creates them atomically, checks that they are stores, and waits for locks."""

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from evalmark.core.errors import OlderStoreError, StoreError

from .connection import FileConnection
from .errors import ELSEWHERE, close_on_error, damage_message, store_errors
from .schema import APPLICATION, STEPS, Step, migrate, refuse_newer, version

Notes = Callable[[str], None]

_LONGEST_WAIT = 60.0
_QUIET_WAIT = 2.0
_STRAY_AGE = 3600.0
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "fuse.sshfs", "ceph", "glusterfs"})


class LockTimeout:
    """SQLite's busy handler: waits for a lock, and reports the wait after two seconds."""

    def __init__(self, path: Path, notes: Notes, longest: float = _LONGEST_WAIT) -> None:
        self.path, self.notes, self.longest = path, notes, longest
        self._since, self._reported = 0.0, False

    def __call__(self, tries: int) -> bool:
        """Sleep, then return whether SQLite should try again."""
        now = time.monotonic()
        if tries == 0:
            self._since, self._reported = now, False
        waited = now - self._since
        if waited >= _QUIET_WAIT and not self._reported:
            self._reported = True
            self.notes(f"Waiting for another process that is writing {self.path}.")
        time.sleep(min(0.001 * 2 ** min(tries, 6), 0.05))
        return waited < self.longest


def open_writable_file(
    path: Path, notes: Notes, max_pages: int | None = None, steps: Sequence[Step] = STEPS
) -> FileConnection:
    """Open a file for writing; create it if it is missing, and migrate an older one.

    Raises:
        StoreError: the file cannot be created, is not a store, is damaged, or is newer than this evalmark.
    """
    with store_errors(path, what="the store"):
        _refuse_folder(path)
        if not path.exists():
            _create(path, notes, steps)
        _refuse_empty(path)
        _settle_journal(path, notes, steps)
        db = _connect(path, notes)
        with close_on_error(db):
            migrate(db, path, steps)
            if max_pages is not None:
                db.pragma("max_page_count", max_pages)
        return db


def open_read_only_file(path: Path, notes: Notes = lambda _: None) -> FileConnection:
    """Open a file for reading, also in a folder that is not writable.

    Raises:
        StoreError: there is no store, it is damaged, or it has another version.
    """
    with store_errors(path):
        _refuse_folder(path)
        if not path.exists():
            raise StoreError(f"{path}: there is no store yet; the first run makes one, or {ELSEWHERE}.")
        _refuse_empty(path)
        db = _connect_read_only(path, notes)
        with close_on_error(db):
            _refuse_other(db, path)
            refuse_newer(db, path)
            _refuse_older(db, path)
        return db


def empty_store() -> FileConnection:
    """Open a store without content, in memory."""
    path = Path(":memory:")
    db = _connect(path, lambda _: None)
    with close_on_error(db):
        migrate(db, path)
    return db


def _connect(path: Path, notes: Notes, flags: int = apsw.SQLITE_OPEN_READWRITE, query: str = "") -> FileConnection:
    name = path.as_uri() + query if query else str(path)
    db = FileConnection(name, flags=flags | (apsw.SQLITE_OPEN_URI if query else 0))
    with close_on_error(db):
        db.set_busy_handler(LockTimeout(path, notes))
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1)
        db.execute(_SETTINGS)
    return db


_SETTINGS = """
    pragma synchronous = full;      -- a commit is on the disk before it counts
    pragma fullfsync = on;          -- on macOS too
    pragma cell_size_check = on;
    pragma temp_store = memory;     -- needs no /tmp
"""


def _connect_read_only(path: Path, notes: Notes) -> FileConnection:
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        db = _connect(path, notes)  # may recover after a crash; leaves no files behind
        db.pragma("query_only", True)
        return db
    try:
        db = _connect(path, notes, apsw.SQLITE_OPEN_READONLY)
        version(db)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # Nothing can write here and the log is empty, so the file is complete.
        db = _connect(path, notes, apsw.SQLITE_OPEN_READONLY, "?immutable=1")
    return db


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{path}: this is a folder; name a file in it with --store.")


def _refuse_empty(path: Path) -> None:
    # Do not open the file to look inside: closing it would drop SQLite's locks in this process.
    if path.stat().st_size == 0:
        raise StoreError(
            f"{path}: the store is empty (0 bytes), so it was truncated. Nothing was changed: restore a copy, "
            f"or move the file away to start a new store, or {ELSEWHERE}."
        )


def _refuse_other(db: FileConnection, path: Path) -> None:
    found = int(db.pragma("application_id"))
    if found == APPLICATION:
        return
    if db.pragma("page_count") == 0:
        raise StoreError(damage_message(path, "it has no whole page"))
    raise StoreError(f"{path}: this SQLite file belongs to another program; {ELSEWHERE}.")


def _refuse_read_only(db: FileConnection, path: Path) -> None:
    if db.readonly("main"):
        raise StoreError(f"{path}: this file is read-only; change its permissions, or {ELSEWHERE}.")


def _refuse_older(db: FileConnection, path: Path) -> None:
    if version(db) < len(STEPS):
        kind = OlderStoreError if version(db) else StoreError
        raise kind(
            f"{path}: an older evalmark wrote this store (store version {version(db)}, this one needs {len(STEPS)}); "
            "copy it to a folder that you may write to, where reading brings it up to date."
        )


def _create(path: Path, notes: Notes, steps: Sequence[Step]) -> None:
    """Create a store under a temporary name and rename it when it is complete."""
    make_folder(path.parent)
    _remove_strays(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(_connect(draft, notes)) as db:
            migrate(db, draft, steps)
        _publish(draft, path)
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                draft.with_name(draft.name + end).unlink()


def make_folder(folder: Path) -> None:
    """Create a folder and its parents for their owner only; add a .gitignore to `.evalmark`."""
    missing = [f for f in (folder, *folder.parents) if not f.exists()]
    for made in reversed(missing):
        made.mkdir(mode=0o700, exist_ok=True)
    if missing and folder.name == ".evalmark":
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def _remove_strays(path: Path) -> None:
    """Delete temporary files of stores whose creation was killed."""
    for stray in path.parent.glob(f".{path.name}.*.new*"):
        with contextlib.suppress(OSError):
            if time.time() - stray.stat().st_mtime > _STRAY_AGE:
                stray.unlink()


def _publish(draft: Path, path: Path) -> None:
    """Rename the temporary file, unless another process has created the store meanwhile."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            draft.rename(path)
    with contextlib.suppress(OSError):  # some systems cannot sync folders
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _settle_journal(path: Path, notes: Notes, steps: Sequence[Step]) -> None:
    """Switch to a write-ahead log, or to a rollback journal on file systems without shared memory."""
    kind = network_file_system(path, _mounts())
    mode = "wal" if kind is None else "delete"
    try:
        with closing(_connect(path, notes)) as db:
            _refuse_read_only(db, path)
            _refuse_other(db, path)
            refuse_newer(db, path, steps)
            found = db.pragma("journal_mode")
            if found != mode:
                found = _retry_while_busy(lambda: db.pragma("journal_mode", mode), LockTimeout(path, notes))
                version(db)  # a log that does not work fails only at the next access
    except apsw.IOError:
        found = _leave_log(path)
    if kind is not None:
        notes(f"{path} is on a network file system ({kind}): keep all runs that share it on one machine.")
    elif found != "wal":
        notes(f"The file system of {path} allows no write-ahead log; readers and writers wait for each other.")


def _leave_log(path: Path) -> Any:
    """Switch to a rollback journal without the shared memory that a log needs."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        db.pragma("locking_mode", "exclusive")  # has to be set before the first read
        return db.pragma("journal_mode", "delete")


def _retry_while_busy(act: Callable[[], Any], again: Callable[[int], bool]) -> Any:
    """Retry while the database is busy: changing the journal mode does not call SQLite's busy handler."""
    tries = 0
    while True:
        try:
            return act()
        except apsw.BusyError:
            if not again(tries):
                raise
            tries += 1


def network_file_system(path: Path, mounts: str) -> str | None:
    r"""Return the type of the network file system that holds a path, from the text of /proc/mounts; None for a local one.

    >>> network_file_system(Path("/home/ann/x.db"), "/dev/sda / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0")
    'nfs4'
    """
    found, longest = None, -1
    for line in mounts.splitlines():
        _, _, rest = line.partition(" ")
        point, _, rest = rest.partition(" ")
        if path.is_relative_to(point.replace("\\040", " ")) and len(point) >= longest:
            found, longest = rest.split(" ")[0], len(point)
    return found if found in _NETWORK else None


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
