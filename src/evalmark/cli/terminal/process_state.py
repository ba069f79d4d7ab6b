"""Process state that evalmark needs and that code under test can change: streams, open files, recursion limit."""

import errno
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from evalmark.core.errors import EvalmarkError
from evalmark.core.lazy import need

from .output import is_open
from .supervised import file_identity

_NAMES = {"stdout": (1, "standard output"), "stderr": (2, "error stream")}
_STOPPED = "Event loop stopped before Future completed."
"""The message of asyncio when code has stopped its loop."""


class ProcessState:
    """The state of the process before the user's code ran."""

    def __init__(self) -> None:
        self._streams = {name: getattr(sys, name) for name in _NAMES}
        self._depth = sys.getrecursionlimit()
        self._files = {name: (_copy(number), file_identity(number)) for name, (number, _) in _NAMES.items()}

    def restore(self) -> str:
        """Restore the streams and the recursion limit; return a message on what was lost, or an empty text."""
        depth = sys.getrecursionlimit()
        sys.setrecursionlimit(max(depth, self._depth))
        lost = [_NAMES[name][1] for name in _NAMES if self._has_lost(name)]
        copies = [copy for copy, _ in self._files.values() if copy is not None]
        if any(file_identity(copy) is None for copy in copies):
            return "A target or a scorer closed files that evalmark needs."
        self._write_elsewhere()
        if lost:
            return f"A target or a scorer closed the {' and the '.join(lost)} of the process, so output may be missing."
        return ""

    def close(self) -> None:
        """Close the copies of the files."""
        for name, (copy, _) in self._files.items():
            if copy is not None and getattr(sys, name) is self._streams[name]:
                with suppress(OSError):
                    os.close(copy)

    def why(self, error: BaseException) -> str:
        """Describe how the user's code caused this error; empty if it did not."""
        depth = sys.getrecursionlimit()
        lost = self.restore()
        if isinstance(error, RecursionError) and depth < self._depth:
            return f"A target or a scorer set the recursion limit of Python to {depth}, which is too low to continue."
        if isinstance(error, SystemExit):
            return f"A target or a scorer ended the event loop of the run with SystemExit({error.code!r})."
        if isinstance(error, need("asyncio").CancelledError):
            return "A target or a scorer cancelled tasks that are not its own, including the run."
        if isinstance(error, RuntimeError) and str(error) == _STOPPED:
            return "A target or a scorer stopped the event loop of the run."
        is_about_files = isinstance(error, EvalmarkError) or getattr(error, "errno", None) == errno.EBADF
        return lost if is_about_files or isinstance(error, OSError | ValueError) else ""

    def _has_lost(self, name: str) -> bool:
        """Whether a stream or its file was closed or replaced."""
        now, (number, _) = getattr(sys, name), _NAMES[name]
        is_closed = self._streams[name] is not None and is_open(self._streams[name]) is False
        before = self._files[name][1]
        return is_closed or now is None or (before is not None and file_identity(number) != before)

    def _write_elsewhere(self) -> None:
        """Restore the original streams; replace a closed one by a stream on a copy of its file."""
        for name, (number, _) in _NAMES.items():
            stream, (copy, before) = self._streams[name], self._files[name]
            if stream is not None and copy is not None and (not is_open(stream) or file_identity(number) != before):
                stream = _writer(copy, stream)
            setattr(sys, name, stream)


def _writer(number: int, like: Any) -> TextIO:
    return open(
        number, "w", encoding=getattr(like, "encoding", None) or "utf-8", errors="backslashreplace", closefd=False
    )


def _copy(number: int) -> int | None:
    try:
        return os.dup(number)
    except OSError:
        return None
