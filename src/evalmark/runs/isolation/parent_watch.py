"""Processes that end with the one that has started them, also where that one is killed."""

import os
import signal
import sys
from contextlib import suppress

from evalmark.core.errors import MissingExtraError
from evalmark.core.lazy import need

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG."""


def end_with_parent(parent: int, lives: int | None = None) -> None:
    """Have this process killed with its parent, so that nothing goes on that nobody asked for any more.

    `lives` is the reading end of a pipe whose other end only the parent has, for systems that cannot do it by themselves.
    """
    if sys.platform == "linux":
        with suppress(MissingExtraError, AttributeError, OSError):  # a Python, or a library of C, that cannot do it
            need("ctypes").CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
            lives = None
        if os.getppid() != parent:
            kill_this_process()
    if lives is not None:
        watch_parent(lives)


def watch_parent(lives: int) -> None:
    """End this process when nobody has the other end of a pipe any more."""
    need("threading").Thread(target=_end_at_end_of, args=(lives,), name="evalmark parent", daemon=True).start()


def kill_this_process() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _end_at_end_of(lives: int) -> None:
    try:
        while os.read(lives, 1):
            pass
    except OSError:  # a target has closed it
        return
    kill_this_process()
