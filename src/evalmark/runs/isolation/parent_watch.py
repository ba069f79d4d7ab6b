"""End a process together with its parent, even if the parent is killed."""

import os
import signal
import sys
from contextlib import suppress

from evalmark.core.errors import MissingExtraError
from evalmark.core.lazy import need

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG."""


def end_with_parent(parent: int, lives: int | None = None) -> None:
    """Kill this process when its parent ends, so that it does not continue without it.

    `lives` is the reading end of a pipe that only the parent can write to, for systems other than Linux.
    """
    if sys.platform == "linux":
        with suppress(MissingExtraError, AttributeError, OSError):  # this Python or C library does not support it
            need("ctypes").CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
            lives = None
        if os.getppid() != parent:
            kill_this_process()
    if lives is not None:
        watch_parent(lives)


def watch_parent(lives: int) -> None:
    """End this process when the writing end of a pipe is closed."""
    need("threading").Thread(target=_wait_for_parent, args=(lives,), name="evalmark parent", daemon=True).start()


def kill_this_process() -> None:
    """Kill this process with SIGKILL."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _wait_for_parent(lives: int) -> None:
    try:
        while os.read(lives, 1):
            pass
    except OSError:  # the target closed it
        return
    kill_this_process()
