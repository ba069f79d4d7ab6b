"""Messages of a supervised command to its supervisor: the run, the reports, and at the end the exit code."""

import os
from collections.abc import Sequence

from evalmark.core.lazy import need

TYPE_CHECKING = False  # not imported from `typing`, which takes longer to load than the rest of this module

if TYPE_CHECKING:
    from pathlib import Path

MAX_MESSAGE_BYTES = 32_768
"""Maximum bytes of all messages but the last: a pipe holds 65,536, and the supervisor reads only at the end."""
_HIGH_NUMBER = 1_008
"""A high descriptor number for the pipe, so that code which closes low descriptors leaves it open."""
_SEPARATOR = b"\0"
"""The separator of messages, which cannot occur in paths or arguments."""


class SupervisorPipe:
    """The pipe to the supervisor. If a target closes it, the supervisor gets no exit code."""

    def __init__(self, pipe: int) -> None:
        pipe = _move_high(pipe)
        self._pipe, self._file, self._process = pipe, file_identity(pipe), os.getpid()
        self._left = MAX_MESSAGE_BYTES
        if hasattr(os, "set_blocking"):  # Python 3.11 on Windows has none
            os.set_blocking(pipe, False)

    @property
    def is_open(self) -> bool:
        """Whether the descriptor is still the original pipe: a target may have closed and reused it."""
        return os.getpid() == self._process and self._file is not None and file_identity(self._pipe) == self._file

    def tell(self, kind: str, text: str = "", *, last: bool = False) -> None:
        """Send a message; drop it if the pipe is full or closed."""
        message = f"{kind}={text}".encode(errors="surrogateescape").replace(_SEPARATOR, b"") + _SEPARATOR
        if self.is_open and (last or len(message) <= self._left):
            self._left -= len(message)
            try:
                os.write(self._pipe, message)
            except OSError:  # the supervisor has ended
                self._file = None


def parse_messages(data: bytes) -> list[tuple[str, str]]:
    r"""Parse messages into kinds and texts; drop an incomplete last one.

    >>> parse_messages(b"report=/tmp/out.json\0code=0\0co")
    [('report', '/tmp/out.json'), ('code', '0')]
    """
    whole = [part.decode(errors="surrogateescape").partition("=") for part in data.split(_SEPARATOR)[:-1]]
    return [(kind, text) for kind, _, text in whole]


_PIPES: list[SupervisorPipe] = []
"""The pipe to the supervisor; empty without one."""


def connect(pipe: int) -> None:
    """Send messages to this pipe from now on."""
    _PIPES[:] = [SupervisorPipe(pipe)]


def print_by_supervisor(text: str) -> bool:
    """Let the supervisor print a text, in case the user's code has closed the error stream; return whether it will.

    If the pipe is closed too, the supervisor reports a crash by itself.
    """
    send("say", text)
    return bool(_PIPES)


def send(kind: str, text: str = "") -> None:
    """Send a message to the supervisor, if there is one."""
    for line in _PIPES:
        line.tell(kind, text)


def _move_high(pipe: int) -> int:
    """Duplicate the pipe to a high descriptor number."""
    if not hasattr(os, "fork"):
        return pipe
    files = need("fcntl")
    try:
        moved_pipe: int = files.fcntl(pipe, files.F_DUPFD_CLOEXEC, _HIGH_NUMBER)
    except OSError:  # the limit of open files is lower
        return pipe
    os.close(pipe)
    return moved_pipe


def send_paths(suites: Sequence["Path"], reports: Sequence["Path"]) -> None:
    """Send the paths of suites and reports, so that an older file is not mistaken for a report of this run."""
    for kind, paths in (("suite", suites), ("report", reports)):
        for path in paths:
            send(kind, str(path.absolute()))


def send_exit_code(code: object) -> None:
    """Send the exit code. Without it, the supervisor treats the command as crashed."""
    for line in _PIPES:
        line.tell("code", str(code if isinstance(code, int) else int(code is not None)), last=True)


def file_identity(number: int) -> tuple[int, int] | None:
    """Return the device and inode of an open descriptor, or None."""
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return status.st_dev, status.st_ino
