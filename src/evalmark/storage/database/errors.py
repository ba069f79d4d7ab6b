"""Turns errors of SQLite and of the file system into messages that say what to do."""

import contextlib
import errno
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType

import apsw

from evalmark.core.errors import StoreBusyError, StoreError, StoreFullError

from .connection import Closeable, StoreLocation

ELSEWHERE = "name another file with --store"
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(slots=True)
class store_errors:  # noqa: N801  used like a function; a generator would be slower, and this is entered for each lookup
    """Turn errors of SQLite and of the file system within a `with` block into a StoreError that says what to do.

    `needed` is the number of bytes that `what` takes; the message of a full disk shows it.

    Raises:
        StoreError: in place of such an error.
    """

    path: StoreLocation
    needed: int = field(default=0, kw_only=True)
    what: str = field(default="the new data", kw_only=True)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, (apsw.Error, OSError, UnicodeDecodeError)):
            raise _store_error(error, self.path, self.needed, self.what) from error


def _store_error(error: Exception, path: StoreLocation, needed: int, what: str) -> StoreError:
    match error:
        case apsw.FullError() | apsw.IOError():
            if _is_full(error, path, needed):
                return StoreFullError(_full_message(path, needed, what))
            return StoreError(f"{path}: the disk reports an error ({error}); what was saved before is kept.")
        case apsw.BusyError():
            return StoreBusyError(
                f"{path}: another process has been writing for too long; wait for it to end, or {ELSEWHERE}."
            )
        case apsw.CorruptError() | apsw.NotADBError() | UnicodeDecodeError():
            return StoreError(damage_message(path, error))
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return StoreError(
                f"{path}: cannot be opened or written ({error}); check the permissions of the file and its folder, "
                f"or {ELSEWHERE}."
            )
        case OSError():
            if error.errno in _DISK_FULL:
                return StoreFullError(_full_message(path, needed, what))
            return StoreError(f"{path}: {error.strerror or error}; {ELSEWHERE}.")
    return StoreError(f"{path}: the store failed ({type(error).__name__}: {error}); nothing saved is lost.")


@contextlib.contextmanager
def close_on_error(db: Closeable) -> Iterator[None]:
    """Close the connection if the block raises."""
    try:
        yield
    except BaseException:
        db.close()
        raise


def _is_full(error: apsw.Error, path: StoreLocation, needed: int) -> bool:
    """Return whether the disk is full. SQLite reports another error when it cannot enlarge shared memory."""
    no_shared_memory = getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
    return isinstance(error, apsw.FullError) or no_shared_memory or _free(path) < max(needed, 1 << 16)


def damage_message(path: StoreLocation, detail: object) -> str:
    """Return the message for a store that cannot be read."""
    return (
        f"{path}: the file is damaged or is not a store ({detail}). Nothing was changed or deleted: copy it to another place together "
        f"with its -wal file, then save the runs that can be read with evalmark.store.salvage({str(path)!r}, 'NEW_FILE'), "
        f"or {ELSEWHERE}."
    )


def _full_message(path: StoreLocation, needed: int, what: str) -> str:
    room = f"needs about {format_size(needed)}" if needed else "needs more space"
    return (
        f"{path}: the disk is full: {what} {room}, and {format_size(_free(path))} are free. Everything saved before is "
        "kept: free disk space and try again; a stopped run can be resumed."
    )


def _free(path: StoreLocation) -> int:
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return 0


def format_size(count: int) -> str:
    """Format a number of bytes.

    >>> format_size(0), format_size(2_048), format_size(5_300_000)
    ('0 B', '2 kB', '5.3 MB')
    """
    for unit, scale in (("GB", 10**9), ("MB", 10**6)):
        if count >= scale:
            return f"{count / scale:z.1f} {unit}"
    return f"{count // 1000} kB" if count >= 1000 else f"{count} B"
