"""What the terminal can show."""

import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evalmark.core.lazy import LazyModule
from evalmark.core.text import clean, escape_workflow_commands
from evalmark.inputs.secrets.known_secrets import mask_known_secrets
from evalmark.storage.store.location import display_location

from .command_line import store_flag

if TYPE_CHECKING:
    from evalmark.core.values.run import Run
    from evalmark.inputs.secrets import masks
    from evalmark.reports.terminal import console
    from evalmark.reports.terminal.console import TerminalStyle
    from evalmark.storage.merging import shards
else:
    masks = LazyModule("evalmark.inputs.secrets.masks")
    console = LazyModule("evalmark.reports.terminal.console")
    shards = LazyModule("evalmark.storage.merging.shards")


_CHUNKS = 1_000
"""Of a file, written at once."""


def output_look(store: str = "", worst: int = 5, flags: str = "") -> "TerminalStyle":
    """Width, colour and characters of the standard output; `store` is where the run is kept, `flags` say so to a command."""
    interactive = is_open(sys.stdout) and sys.stdout.isatty()
    width = shutil.get_terminal_size((100, 24)).columns
    return console.TerminalStyle(
        store=store,
        flags=flags,
        worst=worst,
        width=max(60, min(width, 140)),
        color=interactive and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        unicode=(getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").startswith("utf"),
    )


def run_look(run: "Run", store: str, worst: int) -> "TerminalStyle":
    """The same for a run that is kept in `store`, with what a person can do who has it on the screen."""
    seen = output_look(display_location(store), worst, store_flag(store))
    return replace(seen, resumable=not shards.is_merged(run))  # to merge once more asks nothing


def print_text(text: str) -> None:
    """Write to the standard output, or to the error stream where a target has closed it; never fails.

    A reader that has gone away (`| head`) has seen enough: the rest is dropped.
    """
    _write(_without_workflow_commands(mask_known_secrets(text)), sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__)


def print_workflow_command(text: str) -> None:
    """Write one line for the runner of GitHub Actions to obey; whoever made it has escaped what others wrote."""
    _write(f"{text}\n", sys.stdout, sys.__stdout__)


def _without_workflow_commands(text: str) -> str:
    return escape_workflow_commands(text) if os.environ.get("GITHUB_ACTIONS") == "true" else text


def print_line(text: str) -> None:
    """`say`, with a line end; nothing in the text, such as the name of a file, acts on the terminal."""
    print_text(f"{clean(text)}\n")


def print_document(chunks: Iterable[str]) -> None:
    """Write a file to the standard output, as UTF-8 whatever a terminal there would take; never fails."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", newline="")
    held: list[str] = []
    for chunk in chunks:
        held.append(chunk)
        if len(held) == _CHUNKS:
            print_text("".join(held))
            held = []
    print_text("".join(held))


def print_error(text: str) -> None:
    """Write to the error stream, unless it is closed; never fails, and nothing in it acts on the terminal."""
    _write(_without_workflow_commands(masks.mask_secrets(clean(text))), sys.stderr, sys.__stderr__)


def _write(text: str, *streams: Any) -> None:
    """Write to the first of the streams that takes it."""
    for stream in dict.fromkeys(streams):  # one that is named twice is tried once
        if is_open(stream):
            try:
                stream.write(text)
                stream.flush()
            except BrokenPipeError:
                redirect_to_null(stream)
            except OSError as error:  # its file is closed, or the disk it goes to is full
                redirect_to_null(stream)
                text = f"The output cannot be written there ({error.strerror}), so it stands here.\n{text}"
                continue
            return


def is_open(stream: Any) -> bool:
    """Whether something can be written there: a program can be started without, and a target can close it."""
    return stream is not None and not stream.closed


def redirect_to_null(stream: Any) -> None:
    """Send what still waits in a broken stream, and all that follows, to nowhere."""
    with suppress(OSError, ValueError):  # a stream without a file behind it
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
