"""The program: its verbs, and one place where errors become a sentence and an exit code."""

import os
import sys
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalmark.cli.terminal.terminal import complain, is_open, say_line, silence
from evalmark.cli.terminal.watched import say_through_parent, tell_completion
from evalmark.cli.terminal.watching import VERBS as WATCHED
from evalmark.cli.terminal.words import in_full
from evalmark.core.errors import ConfigError, EvalmarkError, RunAbortedError
from evalmark.core.lazy import LazyModule, need

from .flags import with_variables

if TYPE_CHECKING:
    from evalmark.cli.commands import doctor_checks
else:
    doctor_checks = LazyModule("evalmark.cli.commands.doctor_checks")

USAGE = 2
CANNOT_TELL = 3
INTERRUPTED = 130
PURPOSE = "Is it better, worse, or the same? Evaluations for teams that build on language models."
LONGEST_FAREWELL = 5.0
"""Seconds that threads of a target get to end, once everything else is done."""

VERBS = {
    "run": ("run", "Run suites, and give a verdict."),
    "plan": ("plan", "Say what a run would do and cost; nothing is sent."),
    "rescore": ("rescore", "Judge the outputs of a run anew."),
    "rag": ("rag", "Score the answers of a RAG dataset."),
    "list": ("runs", "List the runs in the store, or the sessions that were recorded, newest first."),
    "show": ("runs", "Show a run, or cases of it in full."),
    "validate": ("runs", "Name every fault of suites and datasets."),
    "view": ("view", "Look at runs in a browser."),
    "report": ("report", "Write reports of runs that are kept, or report to GitHub."),
    "merge": ("merge", "Make one run of shards that were run side by side."),
    "compare": ("compare", "Tell whether a run is better, worse or the same as an earlier one."),
    "note": ("note", "Say what you think of an output: a thumb, a score, a comment."),
    "calibrate": ("calibrate", "Learn thresholds from labels, with a promise on bad answers that pass."),
    "audit": ("audit", "Hold a judge against labels or machine checks: how far it can be trusted."),
    "generate": ("generate", "Make rules and tests of a prompt, in files to edit."),
    "export": ("export", "Write a run in the files of other tools."),
    "import": ("exchange", "Read results of another tool as runs."),
    "cache": ("cache", "Recorded calls of models and tools: list, clear, share."),
    "models": ("models", "Local models: fetch, list, check."),
    "doctor": ("doctor", "Check versions, the store and the models."),
}
"""The module of each verb and its line in the help, in the order of the help."""


def program(verb: str = "") -> typer.Typer:
    """Build the command line with the module of one verb, or with all of them."""
    app = _empty()
    for home in dict.fromkeys((VERBS[verb][0],) if verb else (home for home, _ in VERBS.values())):
        need(f"evalmark.cli.commands.{home}").add(app)
    for command in app.registered_commands:
        command.short_help = VERBS[command.name or str(getattr(command.callback, "__name__", ""))][1]
    return app


def overview() -> typer.Typer:
    """Build the command line for `--help` and for unknown verbs: the names alone, since loading every verb takes long."""
    app = _empty()
    for verb, (_, line) in VERBS.items():
        app.command(verb, short_help=line)(_before_any_verb)
    return app


def _empty() -> typer.Typer:
    app = typer.Typer(
        name="evalmark",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(help=PURPOSE)(_before_any_verb)
    return app


def _tell_version(wanted: bool) -> None:
    if wanted:
        say_line(doctor_checks.own_version())
        raise typer.Exit


def _before_any_verb(
    wants_version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """What stands before a verb."""


def main(words: list[str] | None = None) -> None:
    """Run one command and leave with its exit code: 0, 1, 2, 3 or 130."""
    _ready_streams()
    is_process = words is None
    words = in_full(sys.argv[1:] if words is None else words)
    verb = next((word for word in words if word in VERBS), "")
    try:
        _stand_somewhere()
        command = typer.main.get_command(program(verb) if verb else overview())
        with_variables(_ended_by_itself(command))(args=words, prog_name="evalmark", obj=words)
    except RunAbortedError as error:
        if not say_through_parent(str(error)):
            complain(f"{error}\n")
        if is_process:  # what runs at the end of Python would stumble over what is missing
            tell_completion(CANNOT_TELL)
            os._exit(CANNOT_TELL)
        raise SystemExit(CANNOT_TELL) from None
    except EvalmarkError as error:
        complain(f"{error}\n")
        raise SystemExit(USAGE) from None
    except KeyboardInterrupt:
        complain("\nInterrupted.\n")
        tell_completion(INTERRUPTED)
        os._exit(INTERRUPTED)
    finally:
        _settle_streams()
        if is_process:
            _leave_in_time(sys.exc_info()[1])


def _ended_by_itself(command: Any) -> Any:
    """A command in which `sys.exit(0)` of users' code is no success: our own verbs never leave that way."""
    for name, verb in getattr(command, "commands", {}).items():
        if name in WATCHED:
            verb.callback = _without_exits(verb.callback)
    return command


def _without_exits(verb: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(verb)
    def called(*args: Any, **named: Any) -> Any:
        try:
            return verb(*args, **named)
        except SystemExit as left:
            raise RunAbortedError(
                f"Users' code has ended the command with SystemExit({left.code!r}) before it was done."
            ) from left

    return called


def _ready_streams() -> None:
    """Streams that take every text; where the program was started without one, what goes there goes nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  open to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _stand_somewhere() -> None:
    """Raises ConfigError where the working directory has been deleted: no path could be read from there."""
    try:
        Path.cwd()
    except OSError as error:
        said = error.strerror or "it is gone"
        raise ConfigError(f"The working directory cannot be used ({said}); change to one that exists.") from None


def _settle_streams() -> None:
    """Write out what waits, while a fault can still be told from a crash of the interpreter."""
    for stream in (sys.stdout, sys.stderr):
        if is_open(stream):
            try:
                stream.flush()
            except OSError as error:
                silence(stream)
                if not isinstance(error, BrokenPipeError):
                    complain(f"The output cannot be written: {error.strerror}.\n")


def _leave_in_time(left: BaseException | None) -> None:
    """End the process even if a target has started threads that do not end."""
    others = [t for t in threading.enumerate() if not t.daemon and t is not threading.current_thread()]
    if others:
        code = left.code if isinstance(left, SystemExit) else 1
        patience = threading.Timer(LONGEST_FAREWELL, _leave_now, (code if isinstance(code, int) else 0,))
        patience.daemon = True
        patience.start()


def _leave_now(code: int) -> None:
    complain("Left without the threads that the target has started and that still run.\n")
    os._exit(code)
