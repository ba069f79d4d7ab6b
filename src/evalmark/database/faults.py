"""What SQLite and the file system report, as one sentence for the person at the keyboard."""

import contextlib
import errno
import shutil
from collections.abc import Iterator

import apsw

from evalmark.errors import StoreBusyError, StoreError, StoreFullError

from .ways import Closes, Place

ELSEWHERE = "name another file with --store"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextlib.contextmanager
def explained(path: Place, *, needed: int = 0, what: str = "what was to be saved") -> Iterator[None]:
    """Turn any error of SQLite or the file system into a StoreError that says what to do next.

    `needed` is the number of bytes that `what` takes, for the message of a full disk.

    Raises:
        StoreError: in place of the error that was met.
    """
    try:
        yield
    except (apsw.FullError, apsw.IOError) as error:
        if _is_full(error, path, needed):
            raise StoreFullError(_full(path, needed, what)) from error
        raise StoreError(f"{path}: the disk reports an error ({error}); what was saved before is kept.") from error
    except apsw.BusyError as error:
        raise StoreBusyError(
            f"{path}: another process has been writing for too long; wait for it to end, or {ELSEWHERE}."
        ) from error
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
        raise StoreError(damaged(path, error)) from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
        raise StoreError(
            f"{path}: cannot be opened or written here ({error}); check the rights on the file and its folder, "
            f"or {ELSEWHERE}."
        ) from error
    except apsw.Error as error:
        raise StoreError(
            f"{path}: the store failed ({type(error).__name__}: {error}); nothing saved is lost."
        ) from error
    except OSError as error:
        raise _by_the_system(error, path, needed, what) from error


@contextlib.contextmanager
def closed_on_fault(db: Closes) -> Iterator[None]:
    """Whatever goes wrong, the connection is let go of before it is told."""
    try:
        yield
    except BaseException:
        db.close()
        raise


def _by_the_system(error: OSError, path: Place, needed: int, what: str) -> StoreError:
    if error.errno in _NO_ROOM:
        return StoreFullError(_full(path, needed, what))
    return StoreError(f"{path}: {error.strerror or error}; {ELSEWHERE}.")


def _is_full(error: apsw.Error, path: Place, needed: int) -> bool:
    """SQLite calls a full disk full, but not when it makes room for shared memory."""
    no_shared_memory = getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
    return isinstance(error, apsw.FullError) or no_shared_memory or _free(path) < max(needed, 1 << 16)


def damaged(path: Place, detail: object) -> str:
    """The advice for a store that cannot be read any more."""
    return (
        f"{path}: the file is damaged or is no store ({detail}). Nothing was changed or deleted: copy it aside together "
        f"with its -wal file, then save the runs that can be read with evalmark.store.salvage({str(path)!r}, 'NEW_FILE'), "
        f"or {ELSEWHERE}."
    )


def _full(path: Place, needed: int, what: str) -> str:
    room = f"needs about {size(needed)}" if needed else "needs more room"
    return (
        f"{path}: the disk is full: {what} {room}, and {size(_free(path))} are free. Everything acknowledged before is "
        "kept: make room, then resume the run."
    )


def _free(path: Place) -> int:
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return 0


def size(count: int) -> str:
    """Bytes for people.

    >>> size(0), size(2_048), size(5_300_000)
    ('0 B', '2 kB', '5.3 MB')
    """
    for unit, scale in (("GB", 10**9), ("MB", 10**6)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count // 1000} kB" if count >= 1000 else f"{count} B"
