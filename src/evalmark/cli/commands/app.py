"""The program: its verbs, and one place where errors become a sentence and an exit code."""

import os
import sys
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalmark.cli.terminal.command_line import complete_words
from evalmark.cli.terminal.output import is_open, print_error, print_line, redirect_to_null
from evalmark.cli.terminal.supervised import print_by_supervisor, send_exit_code
from evalmark.cli.terminal.supervisor import SUPERVISED_VERBS as WATCHED
from evalmark.core.errors import ConfigError, EvalmarkError, RunAbortedError
from evalmark.core.lazy import LazyModule, need

from .flags import with_variables

if TYPE_CHECKING:
    from evalmark.cli.commands import installation
else:
    installation = LazyModule("evalmark.cli.commands.installation")

USAGE = 2
INCONCLUSIVE = 3
INTERRUPTED = 130
PURPOSE = "Is it better, worse, or the same? Evaluations for teams that build on language models."
MAX_EXIT_SECONDS = 5.0
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
    app = _new_app()
    for home in dict.fromkeys((VERBS[verb][0],) if verb else (home for home, _ in VERBS.values())):
        need(f"evalmark.cli.commands.{home}").add(app)
    for command in app.registered_commands:
        command.short_help = VERBS[command.name or str(getattr(command.callback, "__name__", ""))][1]
    return app


def overview() -> typer.Typer:
    """Build the command line for `--help` and for unknown verbs: the names alone, since loading every verb takes long."""
    app = _new_app()
    for verb, (_, line) in VERBS.items():
        app.command(verb, short_help=line)(_root)
    return app


def _new_app() -> typer.Typer:
    app = typer.Typer(
        name="evalmark",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(help=PURPOSE)(_root)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print_line(installation.own_version())
        raise typer.Exit


def _root(
    wants_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """What stands before a verb."""


def main(words: list[str] | None = None) -> None:
    """Run one command and leave with its exit code: 0, 1, 2, 3 or 130."""
    _prepare_streams()
    is_process = words is None
    words = complete_words(sys.argv[1:] if words is None else words)
    verb = next((word for word in words if word in VERBS), "")
    try:
        _check_working_directory()
        command = typer.main.get_command(program(verb) if verb else overview())
        with_variables(_refuse_user_exits(command))(args=words, prog_name="evalmark", obj=words)
    except RunAbortedError as error:
        if not print_by_supervisor(str(error)):
            print_error(f"{error}\n")
        if is_process:  # what runs at the end of Python would stumble over what is missing
            send_exit_code(INCONCLUSIVE)
            os._exit(INCONCLUSIVE)
        raise SystemExit(INCONCLUSIVE) from None
    except EvalmarkError as error:
        print_error(f"{error}\n")
        raise SystemExit(USAGE) from None
    except KeyboardInterrupt:
        print_error("\nInterrupted.\n")
        send_exit_code(INTERRUPTED)
        os._exit(INTERRUPTED)
    finally:
        _flush_streams()
        if is_process:
            _exit_despite_threads(sys.exc_info()[1])


def _refuse_user_exits(command: Any) -> Any:
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


def _prepare_streams() -> None:
    """Streams that take every text; where the program was started without one, what goes there goes nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  open to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _check_working_directory() -> None:
    """Raises ConfigError where the working directory has been deleted: no path could be read from there."""
    try:
        Path.cwd()
    except OSError as error:
        said = error.strerror or "it is gone"
        raise ConfigError(f"The working directory cannot be used ({said}); change to one that exists.") from None


def _flush_streams() -> None:
    """Write out what waits, while a fault can still be told from a crash of the interpreter."""
    for stream in (sys.stdout, sys.stderr):
        if is_open(stream):
            try:
                stream.flush()
            except OSError as error:
                redirect_to_null(stream)
                if not isinstance(error, BrokenPipeError):
                    print_error(f"The output cannot be written: {error.strerror}.\n")


def _exit_despite_threads(left: BaseException | None) -> None:
    """End the process even if a target has started threads that do not end."""
    others = [t for t in threading.enumerate() if not t.daemon and t is not threading.current_thread()]
    if others:
        code = left.code if isinstance(left, SystemExit) else 1
        patience = threading.Timer(MAX_EXIT_SECONDS, _exit_now, (code if isinstance(code, int) else 0,))
        patience.daemon = True
        patience.start()


def _exit_now(code: int) -> None:
    print_error("Left without the threads that the target has started and that still run.\n")
    os._exit(code)
