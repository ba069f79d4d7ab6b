"""The files of replies that are not in the store yet: their format, and how they are written.

Each process that writes a store appends replies to a file of its own next to the store, and locks the file while it
lives. The table `reply_log` has a row for each such file, from before its first reply until all its replies are in the
store: how many bytes of the file the store has processed, written in the transaction that stores these replies. So
each reply is stored exactly once, whenever a process is killed, and a file without a row is never read into a store.

A file begins with a line that names its format and its id. The replies follow as MessagePack, each with its length and
its checksum, so a reply that was cut off is detected.
"""

import contextlib
import errno
import os
import secrets
import struct
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from evalmark.storage.database.connection import Connection

from .entries import LogEntry
from .rows import CallRow

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None
"""Whether this system has the locks that protect the file of a living process."""

FORMAT = b"evalmark replies 1 "
HEADER_SIZE = len(FORMAT) + 17
_FRAME = struct.Struct("<II")
"""The length of a record, and its CRC-32."""


# The format.


class ReplyRecord(NamedTuple):
    """A reply in a file."""

    run: str
    """The id of the run that pays for the call; empty outside of runs."""
    pass_: int
    note: int
    """The position of the note that the call answers."""
    row: CallRow


def encode_record(entry: LogEntry) -> bytes:
    """Encode a call as a record with its length and checksum."""
    of = ("", 0) if entry.sent is None else (entry.sent.run_id, entry.sent.of.number)
    payload = _encode((*of, entry.note, *entry.row))
    return _FRAME.pack(len(payload), zlib.crc32(payload)) + payload


_encode = msgspec.msgpack.Encoder(enc_hook=bytes).encode
"""A text with lone surrogates is a subclass of bytes in its column."""


def parse_records(data: bytes) -> Iterator[tuple[ReplyRecord, int]]:
    """Yield the records at the start of the data, each with the position of its end, until one is cut off or damaged."""
    start = 0
    while start + _FRAME.size <= len(data):
        length, checksum = _FRAME.unpack_from(data, start)
        payload = data[start + _FRAME.size : start + _FRAME.size + length]
        start += _FRAME.size + length
        # Zeros are what a power failure leaves at the end of a file, and their checksum is 0.
        if not length or len(payload) < length or zlib.crc32(payload) != checksum:
            return
        try:
            yield _decode_record(payload), start
        except (ValueError, TypeError):
            return


def _decode_record(payload: bytes) -> ReplyRecord:
    run, pass_, note, *columns = msgspec.msgpack.decode(payload)
    return ReplyRecord(run, pass_, note, CallRow._make(columns))


# Writing.


class ReplyFile:
    """A new file of replies, locked by this process until it is closed."""

    def __init__(self, store: Path) -> None:
        self._file: int | None
        self.id, self.path, self._file = _create(store)
        self._lock = threading.Lock()
        self.size = 0
        """Bytes of complete records, and of the first line."""
        self.is_damaged = False
        """Whether something other than complete records may be in the file, so that nothing may follow."""
        self._is_lossy = False
        """Whether a sync has failed: the system may drop what it could not write, and report the next sync as done."""
        try:
            self.append(FORMAT + self.id.encode() + b"\n")
            _sync_folder(store.parent)
        except BaseException:
            self.remove()
            raise

    def append(self, data: bytes) -> None:
        """Write data at the end: it survives this process, but not yet a power failure.

        Raises:
            OSError: it cannot be written; the file is as before.
        """
        written = os.write(self._descriptor, data)
        if written < len(data):
            self.is_damaged = True
            os.ftruncate(self._descriptor, self.size)
            self.is_damaged = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.size += len(data)

    def sync(self) -> None:
        """Wait until everything in the file is on the disk; does nothing once the file is closed.

        Raises:
            OSError: the disk is full or broken. Parts of the file may be lost, so nothing may follow.
        """
        with self._lock:
            if self._file is None:
                return
            if self._is_lossy:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            try:
                _sync(self._file)
            except OSError:
                self._is_lossy = self.is_damaged = True
                raise

    def close(self) -> None:
        """Close and unlock the file."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def remove(self) -> None:
        """Delete the file; if that fails, the next process that opens the store does it."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        self.close()

    @property
    def _descriptor(self) -> int:
        if self._file is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._file


def _create(store: Path) -> tuple[str, Path, int]:
    """Create and lock a file for its owner only."""
    while True:
        id_ = secrets.token_hex(8)
        path = file_path(store, id_)
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        file = os.open(path, flags, 0o600)
        try:
            if lock_file(file) and os.fstat(file).st_nlink:
                return id_, path, file
        except OSError:  # the file system has no locks
            path.unlink()
            os.close(file)
            raise
        os.close(file)  # another process took it for one that a killed process has left


def lock_file(file: int) -> bool:
    """Lock an open file; return False if another process, or another part of this one, has locked it.

    A child that was forked without starting another program shares the lock, and holds it until it ends.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync(file: int) -> None:
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):  # macOS
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(file)


def _sync_folder(folder: Path) -> None:
    """Make a new file in a folder survive a power failure."""
    with contextlib.suppress(OSError):  # some systems cannot sync folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def file_path(store: Path, id_: str) -> Path:
    """Return the path of a file of replies."""
    return store.with_name(f"{store.name}-replies-{id_}")


# The rows of the store, each written in a transaction of the caller.


def register(db: Connection, store: Path, file: ReplyFile) -> None:
    """Add a new file, and drop rows of files that no longer exist."""
    for (id_,) in db.execute("select id from reply_log where processed is null").fetchall():
        if not file_path(store, id_).exists():
            db.execute("delete from reply_log where id = ?", (id_,))
    db.execute("insert into reply_log (id, processed) values (?, ?)", (file.id, file.size))


def mark_processed(db: Connection, id_: str, size: int | None) -> None:
    """Note that the store has the replies in the first `size` bytes of a file; None: all of them, so it can be deleted."""
    db.execute("update reply_log set processed = ? where id = ?", (size, id_))
