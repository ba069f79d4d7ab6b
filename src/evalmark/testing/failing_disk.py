"""Simulates a crash or a full disk at the n-th write of a store.

`FailingDisk` counts every change that SQLite makes to a file (and, in one folder, every file that Python creates, renames or
removes, and every `os.write` to one) and fails at the chosen one. Use it in a child process: it kills the process with
`SIGKILL`.
"""

import ctypes
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import apsw

FailureMode = Literal["before", "torn", "after", "full"]
"""`before`, `torn`, `after`: kill before, in the middle of, or after the change; `full`: no space from here on."""

_FD, _BUFFER, _SIZE, _OFFSET = ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
_CALLS: dict[str, tuple[Any, ...]] = {
    "write": (ctypes.c_ssize_t, _FD, _BUFFER, _SIZE),
    "pwrite": (ctypes.c_ssize_t, _FD, _BUFFER, _SIZE, _OFFSET),
    "pwrite64": (ctypes.c_ssize_t, _FD, _BUFFER, _SIZE, _OFFSET),
    "ftruncate": (ctypes.c_int, _FD, _OFFSET),
    "unlink": (ctypes.c_int, ctypes.c_char_p),
}
"""SQLite's system calls that change files, as its Unix file layer declares them. A sync changes none."""
_EVENTS = frozenset({"os.link", "os.rename", "os.remove", "os.mkdir"})


class FailingDisk:
    """Intercepts the file changes of this process in a `with` block.

    Args:
        folder: A folder whose changes by Python are counted too; None for SQLite only. Writes by Python are counted on Linux.
        at: The number of the change that fails, from 1; None to count only.
        mode: How it fails: `before`, `torn`, `after` or `full`.

    Example:
        >>> with FailingDisk() as disk:
        ...     db = apsw.Connection("")  # a database without a file
        >>> disk.changes
        0
    """

    def __init__(self, folder: Path | None = None, *, at: int | None = None, mode: FailureMode = "before") -> None:
        self.folder = None if folder is None else str(folder)
        self.at, self.mode = at, mode
        self.changes = 0
        """The number of changes so far."""
        self._layer = apsw.VFS("evalmark-disk", base="")
        self._originals: dict[str, int] = {}
        self._callbacks: list[Any] = []  # SQLite keeps their addresses, so they must live
        self._watching = False
        self._lock = threading.Lock()
        self._write = os.write

    def __enter__(self) -> "FailingDisk":
        for name, signature in _CALLS.items():
            if address := self._layer.xGetSystemCall(name):
                self._originals[name] = address
                self._replace(name, ctypes.CFUNCTYPE(*signature, use_errno=True), address)
        self._watching = True
        if self.folder is not None:
            sys.addaudithook(self._on_audit_event)
            os.write = self._write_in_python
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watching = False
        os.write = self._write
        for name, address in self._originals.items():
            self._layer.xSetSystemCall(name, address)

    def _replace(self, name: str, kind: Any, address: int) -> None:
        original = kind(address)

        def instead(*arguments: Any) -> int:
            return self._change(original, arguments)

        callback = kind(instead)
        self._callbacks.append(callback)
        self._layer.xSetSystemCall(name, ctypes.cast(callback, ctypes.c_void_p).value or 0)

    def _change(self, original: Callable[..., int], arguments: tuple[Any, ...]) -> int:
        change = self._count()
        if self.at is None or change < self.at:
            return original(*arguments)
        if self.mode == "full":
            return self._refuse(original, arguments)
        if self.mode == "torn" and len(arguments) > 2:
            original(arguments[0], arguments[1], arguments[2] // 2, *arguments[3:])
        elif self.mode == "after":
            original(*arguments)
        return self._die()

    def _refuse(self, original: Callable[..., int], arguments: tuple[Any, ...]) -> int:
        """Reject writes, but allow files to be truncated and removed."""
        if len(arguments) <= 2:
            return original(*arguments)
        ctypes.set_errno(errno.ENOSPC)
        return -1

    def _on_audit_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._watching or not arguments or not str(arguments[0]).startswith(str(self.folder)):
            return
        is_new = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
        if (is_new or event in _EVENTS) and self._count() == self.at and self.mode != "full":
            self._die()

    def _write_in_python(self, file: int, data: Any, /) -> int:
        """Write as `os.write` does, unless the disk fails."""
        if not self._is_in_folder(file) or (change := self._count()) < (self.at or change + 1):
            return self._write(file, data)
        if self.mode == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.mode == "torn":
            self._write(file, data[: len(data) // 2])
        elif self.mode == "after":
            self._write(file, data)
        return self._die()

    def _is_in_folder(self, file: int) -> bool:
        try:
            return os.readlink(f"/proc/self/fd/{file}").startswith(f"{self.folder}{os.sep}")  # noqa: PTH115
        except OSError:
            return False

    def _count(self) -> int:
        """Count a change, in whichever thread it is made, and return its number."""
        with self._lock:
            self.changes += 1
            return self.changes

    def _die(self) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return -1
