"""What a command tells the parent process that watches over it: its run, its reports, and at the end its exit code."""

import os
from collections.abc import Sequence

from evalmark.core.lazy import need

TYPE_CHECKING = False  # importing it from `typing` would take longer than all the rest

if TYPE_CHECKING:
    from pathlib import Path

MAX_MESSAGE_BYTES = 32_768
"""Bytes of all messages but the last: a pipe holds 65,536, and nobody reads before the end."""
_HIGH_NUMBER = 1_008
"""The number of the pipe, where there are so many: who closes all files that a program usually has leaves it open."""
_SEPARATOR = b"\0"
"""Between messages: no path and no word of a command line holds it."""


class SupervisorPipe:
    """The way to the parent. A target that closes all files closes it too: then the parent hears of no completion."""

    def __init__(self, pipe: int) -> None:
        pipe = _move_high(pipe)
        self._pipe, self._file, self._process = pipe, file_identity(pipe), os.getpid()
        self._left = MAX_MESSAGE_BYTES
        os.set_blocking(pipe, False)

    @property
    def is_open(self) -> bool:
        """Whether the pipe is still the one that the process began with: the number may stand for another file by now."""
        return os.getpid() == self._process and self._file is not None and file_identity(self._pipe) == self._file

    def tell(self, kind: str, text: str = "", *, last: bool = False) -> None:
        """Send a message; one that finds no room, or nobody to hear it, is left out."""
        message = f"{kind}={text}".encode(errors="surrogateescape").replace(_SEPARATOR, b"") + _SEPARATOR
        if self.is_open and (last or len(message) <= self._left):
            self._left -= len(message)
            try:
                os.write(self._pipe, message)
            except OSError:  # the parent is gone
                self._file = None


def parse_messages(said: bytes) -> list[tuple[str, str]]:
    r"""The messages as they were sent, each a kind and a text; a last one that is torn is left out.

    >>> messages(b"report=/tmp/out.json\0code=0\0co")
    [('report', '/tmp/out.json'), ('code', '0')]
    """
    whole = [part.decode(errors="surrogateescape").partition("=") for part in said.split(_SEPARATOR)[:-1]]
    return [(kind, text) for kind, _, text in whole]


_PIPES: list[SupervisorPipe] = []
"""The way to the parent; empty where nobody watches."""


def connect(pipe: int) -> None:
    """From now on the parent hears what is told."""
    _PIPES[:] = [SupervisorPipe(pipe)]


def print_by_supervisor(text: str) -> bool:
    """Have the parent say something where users' code may have closed the error stream; gives whether it does.

    One that hears nothing any more says by itself that something is wrong.
    """
    send("say", text)
    return bool(_PIPES)


def send(kind: str, text: str = "") -> None:
    """Tell the parent, where there is one."""
    for line in _PIPES:
        line.tell(kind, text)


def _move_high(pipe: int) -> int:
    """The pipe under a high number."""
    if not hasattr(os, "fork"):
        return pipe
    files = need("fcntl")
    try:
        moved: int = files.fcntl(pipe, files.F_DUPFD_CLOEXEC, _HIGH_NUMBER)
    except OSError:  # fewer files than that are allowed
        return pipe
    os.close(pipe)
    return moved


def send_paths(suites: Sequence["Path"], reports: Sequence["Path"]) -> None:
    """Say which reports are to be written, so that an earlier file under such a name is never taken for this run's."""
    for kind, paths in (("suite", suites), ("report", reports)):
        for path in paths:
            send(kind, str(path.absolute()))


def send_exit_code(code: object) -> None:
    """Say that the command has come to its own end, and with which exit code. Without this, no code is believed."""
    for line in _PIPES:
        line.tell("code", str(code if isinstance(code, int) else int(code is not None)), last=True)


def file_identity(number: int) -> tuple[int, int] | None:
    """Which file an open number stands for."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino
