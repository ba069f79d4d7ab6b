"""Output to the terminal: text, errors, documents, and commands for GitHub Actions."""

import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import EvalmarkError
from evalmark.core.lazy import LazyModule
from evalmark.core.text import clean, safe_for_ci
from evalmark.inputs.secrets.known_secrets import mask_known_secrets

from .command_line import store_flag

if TYPE_CHECKING:
    from evalmark.core.values.run import Run
    from evalmark.inputs.secrets import masks
    from evalmark.reports.files import github
    from evalmark.reports.terminal import console
    from evalmark.reports.terminal.console import TerminalStyle
    from evalmark.storage.merging import shards
    from evalmark.storage.store import location
else:
    github = LazyModule("evalmark.reports.files.github")
    masks = LazyModule("evalmark.inputs.secrets.masks")
    console = LazyModule("evalmark.reports.terminal.console")
    location = LazyModule("evalmark.storage.store.location")
    shards = LazyModule("evalmark.storage.merging.shards")


_COMMAND = re.compile(r"(\s*)(\S.*:) (evalmark .*)")
_CHUNKS = 1_000
"""Chunks that are written together."""


def terminal_style(store: str = "", worst: int = 5, flags: str = "") -> "TerminalStyle":
    """Return the width, colour and characters of the standard output, with the run's store and its `--store` flag."""
    return console.stdout_style(store, worst, flags)


def run_style(run: "Run", store: str, worst: int) -> "TerminalStyle":
    """Return the style for a run in `store`, including whether it can be resumed."""
    look = terminal_style(location.display_location(store), worst, store_flag(store))
    return replace(look, resumable=not shards.is_merged(run))  # a merged run has no target to call


def print_text(text: str) -> None:
    """Write to the standard output, or to the error stream if a target has closed it; never fails.

    If the reader has gone away (`| head`), the rest is dropped.
    """
    _write(safe_for_ci(mask_known_secrets(text)), sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__)


def print_workflow_command(text: str) -> None:
    """Write a workflow command for the GitHub Actions runner; the caller has escaped foreign text in it."""
    _write(f"{text}\n", sys.stdout, sys.__stdout__)


def print_line(text: str) -> None:
    """Write a line with control characters removed, so that a file name cannot control the terminal."""
    print_text(f"{_folded(clean(text), sys.stdout)}\n")


def print_document(chunks: Iterable[str]) -> None:
    """Write a document to the standard output, always as UTF-8; never fails."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", newline="")
    pending: list[str] = []
    for chunk in chunks:
        pending.append(chunk)
        if len(pending) == _CHUNKS:
            print_text("".join(pending))
            pending = []
    print_text("".join(pending))


def print_error(text: str) -> None:
    """Write to the error stream, with secrets masked and control characters removed; never fails."""
    _write(safe_for_ci(_folded(masks.mask_secrets(clean(text)), sys.stderr)), sys.stderr, sys.__stderr__)


def print_store_note(text: str) -> None:
    """Write what a store reports, for example that it waits for another process, to the error stream."""
    print_error(f"{text}\n")


def _folded(text: str, stream: Any) -> str:
    """Break long lines between words if the stream is a terminal, which would break them within words."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (AttributeError, OSError, ValueError):  # no terminal, or a stream that is closed or has no descriptor
        width = 0
    return fold_words(text, width) if width else text


def fold_words(text: str, width: int) -> str:
    r"""Break lines between words; a line that goes on keeps its indentation, and a longer word stays whole.

    A command at the end of a line that is too long gets a line of its own.

    >>> print(fold_words("  one two three\n\nfour", 10))
      one two
      three
    <BLANKLINE>
    four
    >>> print(fold_words("Run it: evalmark run a.yaml", 24))
    Run it:
      evalmark run a.yaml
    """
    lines = []
    for line in (part for whole in text.split("\n") for part in _with_command_apart(whole, width)):
        indent = line[: len(line) - len(line.lstrip())]
        room = max(width - len(indent), 1)
        parts = re.findall(rf"\S.{{0,{room - 1}}}(?!\S)|\S+", line) if len(line) > width else [line.lstrip()]
        lines += [f"{indent}{part.rstrip()}" for part in parts] or [""]
    return "\n".join(lines)


def _with_command_apart(line: str, width: int) -> list[str]:
    found = _COMMAND.fullmatch(line) if len(line) > width else None
    return [line] if found is None else [f"{found[1]}{found[2]}", f"{found[1]}  {found[3]}"]


def _write(text: str, *streams: Any) -> None:
    """Write to the first stream that works."""
    for stream in dict.fromkeys(streams):  # each stream once
        if is_open(stream):
            try:
                stream.write(text)
                stream.flush()
            except BrokenPipeError:
                redirect_to_null(stream)
            except OSError as error:  # the file is closed, or the disk is full
                redirect_to_null(stream)
                text = f"The standard output cannot be written ({error.strerror}); its text follows here.\n{text}"
                continue
            return


def is_open(stream: Any) -> bool:
    """Whether a stream exists and is open."""
    return stream is not None and not stream.closed


def redirect_to_null(stream: Any) -> None:
    """Redirect a broken stream to the null device, including its buffer."""
    with suppress(OSError, ValueError):  # a stream without a file descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


SUMMARY_FILE = "GITHUB_STEP_SUMMARY"


def write_job_summary(written: Callable[[int], Iterable[str]]) -> None:
    """Write the summary to the file that GitHub names, or to the standard output if it names none."""
    name = os.environ.get(SUMMARY_FILE)
    if name:
        _append(Path(name), written)
    else:
        print_text("".join(written(github.LIMIT)))


def _append(path: Path, written: Callable[[int], Iterable[str]]) -> None:
    """Append to the file; earlier content counts towards its size limit."""
    try:
        before = b"\n" if path.exists() and path.stat().st_size else b""
        budget = github.LIMIT - (path.stat().st_size + len(before) if before else 0)
        text = "".join(written(budget)).encode(errors="backslashreplace")
        if not text:
            print_error(f"{path}: full, so the job summary is left out; write it in a step of its own.\n")
            return
        with path.open("ab") as stream:
            stream.write(before + text)
    except OSError as error:
        message = f"{path}: the job summary cannot be written there: {error.strerror or error}."
        raise EvalmarkError(f"{message} Unset {SUMMARY_FILE} to have it printed.") from None
