"""Signals during a run: the first one lets running trials end, the second one ends the process."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evalmark.core.lazy import need

from .exit_codes import INTERRUPTED
from .output import print_error

if TYPE_CHECKING:
    import asyncio

SAME_SIGNAL_SECONDS = 0.2
"""Seconds in which a second signal counts as the same one: a process group gets it directly and from the supervisor."""


@contextmanager
def graceful_interrupts(stop: "asyncio.Event", again: str) -> Iterator[None]:
    """On the first Ctrl-C, finish the running trials; on the second, exit at once. The store stays consistent."""
    loop: asyncio.AbstractEventLoop = need("asyncio").get_running_loop()
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Signals that `nohup` or a background shell ignores stay ignored.
    names = [name for name in names if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN]
    since = 0.0

    def interrupt() -> None:
        nonlocal since
        if since and loop.time() - since < SAME_SIGNAL_SECONDS:
            return
        if since:
            if command := sys.modules.get("evalmark.models.providers.command"):
                command.end_programs()
            print_error(f"\nExited at once. Resume with: {again} --resume\n")
            os._exit(INTERRUPTED)
        since = loop.time()
        stop.set()
        print_error("\nFinishing the running trials. Press Ctrl-C again to exit at once.\n")

    try:
        for name in names:
            loop.add_signal_handler(getattr(signal, name), interrupt)
    except NotImplementedError:  # Windows has no such handlers: the first Ctrl-C ends the program
        names = []
    try:
        yield
    finally:
        for name in names:
            loop.remove_signal_handler(getattr(signal, name))
