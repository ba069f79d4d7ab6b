"""What of the process evalmark itself needs, and code under test can take away: streams, open files, depth of calls."""

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
"""What asyncio raises when something has stopped its loop."""


class ProcessState:
    """How the process was before users' code ran in it."""

    def __init__(self) -> None:
        self._streams = {name: getattr(sys, name) for name in _NAMES}
        self._depth = sys.getrecursionlimit()
        self._files = {name: (_copy(number), file_identity(number)) for name, (number, _) in _NAMES.items()}

    def restore(self) -> str:
        """Have streams and depth of calls as they were; gives what was lost by then, in a sentence, or nothing."""
        depth = sys.getrecursionlimit()
        sys.setrecursionlimit(max(depth, self._depth))
        lost = [_NAMES[name][1] for name in _NAMES if self._has_lost(name)]
        copies = [copy for copy, _ in self._files.values() if copy is not None]
        if any(file_identity(copy) is None for copy in copies):
            return "A target or a scorer has closed files of the process that evalmark needs."
        self._write_elsewhere()
        if lost:
            return f"A target or a scorer has closed the {' and the '.join(lost)} of the process, so output may be missing."
        return ""

    def close(self) -> None:
        """Let go of the copies of the files."""
        for name, (copy, _) in self._files.items():
            if copy is not None and getattr(sys, name) is self._streams[name]:
                with suppress(OSError):
                    os.close(copy)

    def why(self, error: BaseException) -> str:
        """How users' code has broken off a run with this error, in a sentence; nothing where it is no work of theirs."""
        depth = sys.getrecursionlimit()
        lost = self.restore()
        if isinstance(error, RecursionError) and depth < self._depth:
            return (
                f"A target or a scorer has set the recursion limit of Python to {depth}, too low for anything to go on."
            )
        if isinstance(error, SystemExit):
            return f"A target or a scorer has ended the event loop of the run with SystemExit({error.code!r})."
        if isinstance(error, need("asyncio").CancelledError):
            return "A target or a scorer has cancelled tasks that are not its own, the run among them."
        if isinstance(error, RuntimeError) and str(error) == _STOPPED:
            return "A target or a scorer has stopped the event loop of the run."
        is_about_files = isinstance(error, EvalmarkError) or getattr(error, "errno", None) == errno.EBADF
        return lost if is_about_files or isinstance(error, OSError | ValueError) else ""

    def _has_lost(self, name: str) -> bool:
        """Whether a stream was closed or taken away, or its file."""
        now, (number, _) = getattr(sys, name), _NAMES[name]
        taken = self._streams[name] is not None and is_open(self._streams[name]) is False
        before = self._files[name][1]
        return taken or now is None or (before is not None and file_identity(number) != before)

    def _write_elsewhere(self) -> None:
        """The streams that there were; in the place of one that was closed, another on a copy of its file."""
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
    """Another number for an open file."""
    try:
        return os.dup(number)
    except OSError:
        return None
