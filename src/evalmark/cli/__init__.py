"""The command line of evalmark.

`commands` holds the verbs and their flags; `terminal` holds what they share: output, progress, runs with their reports,
and the supervising parent process.
"""

import gc
import sys

from evalmark.core.lazy import need

from .terminal import supervised, supervisor

__all__ = ["main"]

GARBAGE = (50_000, 20, 100)
"""Thresholds of the garbage collector. Nearly all objects of a command are freed by reference counting, and with
Python's default of 700 a run spends part of its time on collections that find nothing."""


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its exit code; the program loads here, so that Ctrl-C works while it does.

    In a process of its own, a command that runs the user's code continues in a child process, which this process
    supervises.
    """
    try:
        if arguments is None:  # otherwise the process belongs to the caller
            gc.set_threshold(*GARBAGE)
            if supervisor.is_needed(sys.argv[1:]):
                supervisor.supervise(sys.argv[1:])
        need("evalmark.core.foreign.import_guard").guard_imports()
        program = need("evalmark.cli.commands.app")
        if arguments is None:
            gc.freeze()  # modules stay until the end; searching them for cycles would only cost time
    except KeyboardInterrupt:
        raise _interrupted("Interrupted before anything started.") from None
    try:
        program.main(arguments)
    except KeyboardInterrupt:  # before or after the part that handles it
        raise _interrupted("Interrupted.") from None
    except SystemExit as left:
        supervised.send_exit_code(left.code)
        raise


def _interrupted(text: str) -> SystemExit:
    """Print the text, report the exit code to the supervising process, and return the exit."""
    sys.stderr.write(f"\n{text}\n")
    supervised.send_exit_code(130)
    return SystemExit(130)
