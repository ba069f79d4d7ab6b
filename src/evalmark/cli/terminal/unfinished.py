"""Messages and reports for a command that crashed, from the supervisor, which runs no code of the user."""

import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.run import Run
from evalmark.reports.files.writers import save, writer_for
from evalmark.storage.store.store import open_store

from .command_line import complete_words, repeat_command
from .exit_codes import INCONCLUSIVE
from .output import print_error

_SHOW_CURSOR = "\x1b[?25h"
_REPORT_STARTS = (
    '{"format":"evalmark-run"',
    "dataset,case,repeat,target,verdict",
    "<testsuites name=",
    "## \u2705 ",
    "## \u274c ",
    "## \u2754 ",
    "require-trusted-types-for 'script'",
)
"""Every report has one of these near its start."""
_START = 2_000
"""Characters."""
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT")
_RUNS = ("run", "rescore", "rag")


def explain(arguments: Sequence[str], ended: int, messages: Sequence[tuple[str, str]], code: int | None) -> int:
    """Print why a command did not finish, and mark its reports; return the exit code, `code` if it was reported."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(_SHOW_CURSOR)  # a killed progress display leaves it hidden
    reported = dict(messages)
    why = describe_end(ended)
    if "say" in reported:
        print_error(f"{reported['say']}\n")
    elif code is None:
        print_error(f"\n{_sentence(arguments, why, reported)}\n")
    if "reported" not in reported and (code is None or "run" in reported):
        paths, suites = (
            [Path(text) for kind, text in messages if kind == expected] for expected in ("report", "suite")
        )
        marked = mark_reports(paths, suites, reported, why)
        if marked:
            print_error(f"Marked as incomplete: {', '.join(map(str, marked))}\n")
    return INCONCLUSIVE if code is None else code


def describe_end(ended: int) -> str:
    """Describe how a process ended, by its exit status; negative for a signal.

    >>> describe_end(0)
    'its process exited with status 0'
    >>> describe_end(-11)
    'its process crashed with SIGSEGV'
    """
    if ended >= 0:
        return f"its process exited with status {ended}"
    try:
        name = signal.Signals(-ended).name
    except ValueError:
        name = f"signal {-ended}"
    if name == "SIGKILL":
        return "its process was killed with SIGKILL, by a user or by the system when out of memory"
    return f"its process {'crashed with' if name in _CRASHES else 'was ended by'} {name}"


def _sentence(arguments: Sequence[str], why: str, reported: Mapping[str, str]) -> str:
    command = complete_words(arguments)
    what = "The run did not finish" if command[0] in _RUNS else f"evalmark {command[0]} did not finish"
    if "run" in reported:
        return f"{what}: {why}. Finished results are stored. Resume with: {reported['again']}"
    return f"{what}: {why} before any request was sent. Start again with: {repeat_command(command)}"


def mark_reports(paths: Sequence[Path], suites: Sequence[Path], reported: Mapping[str, str], why: str) -> list[Path]:
    """Write the stored part of the run to its reports, marked as incomplete; return the written ones."""
    run = _stored_run(reported) or Run(id="", name=", ".join(map(str, suites)) or "evalmark", created="")
    run = replace(run, status="interrupted", notes=(*run.notes, f"Incomplete: {why} before the run was over."))
    marked = []
    for path in paths:
        if "run" in reported or _may_be_replaced(path, suites):
            with suppress(EvalmarkError, OSError):
                save(run, path)
                marked.append(path)
    return marked


def _stored_run(reported: Mapping[str, str]) -> Run | None:
    if "run" not in reported:
        return None
    try:
        with open_store(reported["store"], read_only=True) as run_store:
            run = run_store.run(reported["run"])
            return replace(run, results=[*run.results])
    except (EvalmarkError, OSError) as error:
        print_error(f"The stored part of the run cannot be read: {error}\n")
        return None


def _may_be_replaced(path: Path, suites: Sequence[Path]) -> bool:
    """Whether a report may be written although the check for files that the run reads has not run yet."""
    with suppress(EvalmarkError, OSError):
        writer_for(path)
        return not path.exists() or (_is_report(path) and not any(_is_read(path, suite) for suite in suites))
    return False


def _is_read(path: Path, suite: Path) -> bool:
    """Whether a suite is this file or names it."""
    return suite.samefile(path) or path.name in suite.read_text(encoding="utf-8", errors="replace")


def _is_report(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as file:
        start = file.read(_START)
    return any(sign in start for sign in _REPORT_STARTS)
