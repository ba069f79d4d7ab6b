"""The program: its verbs, and one place where errors become a sentence and an exit code."""

import os
import sys
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from evalmark.cli.commands.doctor_checks import own_version
from evalmark.cli.terminal.terminal import complain, is_open, say_line, silence
from evalmark.cli.terminal.watched import say_through_parent, tell_completion
from evalmark.cli.terminal.watching import VERBS as WATCHED
from evalmark.cli.terminal.words import in_full
from evalmark.core.errors import BrokenOffError, ConfigError, EvalmarkError
from evalmark.core.lazy import need

from .flags import with_variables

USAGE = 2
CANNOT_TELL = 3
INTERRUPTED = 130
PURPOSE = "Is it better, worse, or the same? Evaluations for teams that build on language models."
LONGEST_FAREWELL = 5.0
"""Seconds that threads of a target get to end, once everything else is done."""

VERBS = {
    "run": "run",
    "plan": "plan",
    "rescore": "rescore",
    "rag": "rag",
    **dict.fromkeys(("list", "show", "validate"), "runs"),
    "view": "view",
    "report": "report",
    "merge": "merge",
    "compare": "compare",
    "note": "note",
    "calibrate": "calibrate",
    "audit": "audit",
    "generate": "generate",
    "export": "export",
    **dict.fromkeys(("import",), "exchange"),
    "cache": "cache",
    "models": "models",
    "doctor": "doctor",
}
"""In which file each verb stands, in the order of the help."""


def program(verb: str = "") -> typer.Typer:
    """The command line with the file of one verb; with all of them where it is no verb, or a flag that says what there is."""
    app = typer.Typer(
        name="evalmark",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(help=PURPOSE)(_before_any_verb)
    for home in dict.fromkeys((VERBS[verb],) if verb in VERBS else VERBS.values()):
        need(f"evalmark.cli.commands.{home}").add(app)
    return app


def _tell_version(wanted: bool) -> None:
    if wanted:
        say_line(own_version())
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
    try:
        _stand_somewhere()
        command = typer.main.get_command(program(words[0] if words else ""))
        with_variables(_ended_by_itself(command))(args=words, prog_name="evalmark", obj=words)
    except BrokenOffError as error:
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
            raise BrokenOffError(
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
