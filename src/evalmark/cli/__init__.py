"""The command line: parse, print, exit code."""

import gc
import sys

from evalmark.core.lazy import need

from .terminal import supervised, supervisor

__all__ = ["main"]

GARBAGE = (50_000, 20, 100)
"""How many objects more there are before garbage is looked for. Nearly all of a command's goes by itself, and with the
700 that Python waits for, a run spends part of its time on searches that find nothing."""


def main(words: list[str] | None = None) -> None:
    """Run one command and leave with its exit code; the program loads only now, so that Ctrl-C may come meanwhile.

    Where the process is ours, commands that run users' code go on in a child, and this process watches over it.
    """
    try:
        if words is None:  # else the process is somebody else's
            gc.set_threshold(*GARBAGE)
            if supervisor.is_needed(sys.argv[1:]):
                supervisor.supervise(sys.argv[1:])
        need("evalmark.core.foreign.import_guard").guard_imports()
        program = need("evalmark.cli.commands.app")
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted before anything was started.\n")
        supervised.send_exit_code(130)
        raise SystemExit(130) from None
    try:
        program.main(words)
    except SystemExit as left:
        supervised.send_exit_code(left.code)
        raise
