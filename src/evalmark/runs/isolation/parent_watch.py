"""End a process together with its parent, even if the parent is killed."""

import os
import signal
import sys
from contextlib import suppress

from evalmark.core.errors import MissingExtraError
from evalmark.core.lazy import need

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG."""


def end_with_parent(parent: int, alive_pipe: int | None = None) -> None:
    """Kill this process when its parent ends.

    `alive_pipe` is the reading end of a pipe to which only the parent can write, for systems other than Linux.
    """
    if sys.platform == "linux":
        with suppress(MissingExtraError, AttributeError, OSError):  # this Python or C library does not support it
            need("ctypes").CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
            alive_pipe = None
        if os.getppid() != parent:
            kill_this_process()
    if alive_pipe is not None:
        watch_parent(alive_pipe)


def watch_parent(alive_pipe: int) -> None:
    """End this process when the writing end of a pipe is closed."""
    need("threading").Thread(target=_wait_for_parent, args=(alive_pipe,), name="evalmark parent", daemon=True).start()


def kill_this_process() -> None:
    """Kill this process with SIGKILL."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _wait_for_parent(alive_pipe: int) -> None:
    try:
        while os.read(alive_pipe, 1):
            pass
    except OSError:  # the target closed it
        return
    kill_this_process()
