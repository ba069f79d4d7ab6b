"""The command line: parse, print, exit code."""

from .app import main

__all__ = ["main"]
