"""The command line: parse, print, exit code."""

import sys

from evalmark.errors import need

__all__ = ["main"]


def main(words: list[str] | None = None) -> None:
    """Run one command and leave with its exit code; the program loads only now, so that Ctrl-C may come meanwhile."""
    try:
        program = need("evalmark.cli.app")
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted before anything was started.\n")
        raise SystemExit(130) from None
    program.main(words)
