"""The command-line program: the table of verbs, and the mapping of errors to a message and an exit code."""

import gc
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperArgument, TyperOption

from evalmark.cli.terminal.command_line import complete_words
from evalmark.cli.terminal.exit_codes import INCONCLUSIVE, INTERRUPTED, USAGE
from evalmark.cli.terminal.output import is_open, print_error, print_line, redirect_to_null
from evalmark.cli.terminal.supervised import print_by_supervisor, send_exit_code
from evalmark.cli.terminal.supervisor import SUPERVISED_VERBS as WATCHED
from evalmark.core.errors import ConfigError, EvalmarkError, RunAbortedError
from evalmark.core.lazy import LazyModule, need
from evalmark.core.text import PLAIN

from . import flags
from .flags import RUN_EXIT_CODES, exit_codes, with_variables

if TYPE_CHECKING:
    from evalmark.cli.commands import doctor
else:
    doctor = LazyModule("evalmark.cli.commands.doctor")

PLAIN_FLAG = "--plain"
PURPOSE = "Evaluate LLM applications: is the change better, worse, or the same?"
RANGE = re.compile(r"\bx[<>]=|<=x\b")
"""The range of a number as typer writes it: `0<=x<=1` or `x>=1`."""
_HYPHEN, _INNER_HYPHEN = "\u2011", re.compile(r"(?<=\w)-(?=\w)")
"""The non-breaking hyphen, and the hyphens that it replaces while lines are broken."""
MAX_EXIT_SECONDS = 5.0
"""Seconds that threads of a target get to end before the process exits without them."""

COMPLETION = "_EVALMARK_COMPLETE"
"""The variable with which a shell asks for completions."""

VERBS = {
    "init": ("init", "Write an example suite to start from."),
    "run": ("run", "Run suites: score every output and report pass or fail."),
    "plan": ("plan", "Estimate what a run would do and cost, without sending a request."),
    "rescore": ("rescore", "Score the outputs of an earlier run again."),
    "rag": ("rag", "Score the answers in a RAG dataset without a judge model."),
    "list": ("run_list", "List runs or recorded sessions, newest first."),
    "show": ("runs", "Show a run or its cases."),
    "delete": ("delete", "Delete runs or recorded sessions for good."),
    "prune": ("delete", "Delete old runs for good."),
    "validate": ("runs", "Check suites, prompts and datasets, and list every error."),
    "view": ("view", "Show runs in a browser."),
    "report": ("report", "Write reports of stored runs."),
    "merge": ("merge", "Merge the shards of a suite into one run."),
    "compare": ("compare", "Compare two runs: better, worse, or the same."),
    "trend": ("trend", "Show a metric over the runs of a suite, with control limits."),
    "label": ("label", "Draw outputs to label at random."),
    "note": ("note", "Label an output with a thumb, a score or a comment."),
    "calibrate": ("calibrate", "Learn metric thresholds from labels."),
    "audit": ("audit", "Measure how well a judge agrees with labels."),
    "generate": ("generate", "Generate rules and tests from a prompt."),
    "export": ("export", "Export a run to the format of another tool."),
    "import": ("import_files", "Import tests and results of another tool."),
    "cache": ("cache", "List, clear, export and import recorded calls."),
    "models": ("models", "Download and check local models."),
    "schema": ("init", "Print the JSON Schema of suites, cases or reports."),
    "doctor": ("doctor", "Check the installation."),
}
"""The module of each verb and its line in `--help`, in the order of `--help`."""


def program(verb: str = "") -> typer.Typer:
    """Build the program with one verb, or with all verbs."""
    app = _new_app(has_completion=COMPLETION in os.environ)
    for home in dict.fromkeys((VERBS[verb][0],) if verb else (home for home, _ in VERBS.values())):
        need(f"evalmark.cli.commands.{home}").add(app)
    for command in app.registered_commands:
        command.short_help = VERBS[command.name or str(getattr(command.callback, "__name__", ""))][1]
    for group in app.registered_groups:
        group.short_help = VERBS[str(group.name)][1]
    return app


def parsed_command(app: typer.Typer) -> Any:
    """Return the command that parses the arguments of a program and prints its help."""
    return _with_plain_parameters(typer.main.get_command(app))


@cache
def _command(verb: str, _has_completion: bool) -> Any:
    """Return the command of a verb; building it takes as long as running some of them."""
    return with_variables(_refuse_user_exits(parsed_command(program(verb) if verb else overview())))


def overview() -> typer.Typer:
    """Build the program for `--help` and for unknown verbs: names and help lines only, because loading every verb is slow."""
    app = _new_app(has_completion=True)
    for verb, (_, line) in VERBS.items():
        app.command(verb, short_help=line)(_root)
    return app


def _new_app(*, has_completion: bool) -> typer.Typer:
    app = typer.Typer(
        name="evalmark",
        no_args_is_help=True,
        add_completion=has_completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": 100,
            # typer would load pydantic to convert the value of its own --help flag
            "default_map": {"help": False, **{verb: {"help": False} for verb in VERBS}},
        },
    )
    app.callback(help=PURPOSE, epilog=exit_codes(RUN_EXIT_CODES))(_root)
    return app


def _print_version(requested: bool) -> None:
    if requested:
        print_line(doctor.own_version())
        raise typer.Exit


def _root(
    wants_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    is_plain: Annotated[
        bool,
        typer.Option(
            PLAIN_FLAG,
            help="For logs: 100 columns and ASCII signs, without colours and progress bars; before or after COMMAND.",
        ),
    ] = False,
) -> None:
    """Parse the options before the verb."""


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its exit code: 0, 1, 2, 3 or 130."""
    _prepare_streams()
    is_process = arguments is None
    arguments = _without_plain(complete_words(sys.argv[1:] if arguments is None else arguments))
    verb = next((word for word in arguments or _words_to_complete() if word in VERBS), "")
    try:
        _check_working_directory()
        _command(verb, COMPLETION in os.environ)(args=arguments, prog_name="evalmark", obj=arguments)
    except RunAbortedError as error:
        if not print_by_supervisor(str(error)):
            print_error(f"{error}\n")
        if is_process:  # the interpreter's exit handlers would fail on the missing files
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
            if verb not in WATCHED:
                gc.freeze()  # Python's search for cycles at the exit takes 50 ms and finds only modules
            _exit_despite_threads(sys.exc_info()[1])


def _without_plain(arguments: list[str]) -> list[str]:
    """Take --plain out of the arguments, wherever it stands before `--`, and pass it on to all processes of the command."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if PLAIN_FLAG not in arguments[:end]:
        return arguments
    os.environ[PLAIN] = "1"
    return [word for word in arguments[:end] if word != PLAIN_FLAG] + arguments[end:]


def _words_to_complete() -> list[str]:
    """Return the words on the command line of a shell that asks for completions; typer reads the same variables."""
    if COMPLETION not in os.environ:
        return []
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()


def _refuse_user_exits(command: Any) -> Any:
    """Make `sys.exit(0)` in the user's code an error instead of a success; evalmark's own verbs never exit this way."""
    for name, verb in getattr(command, "commands", {}).items():
        for watched in getattr(verb, "commands", {"": verb}).values() if name in WATCHED else ():
            watched.callback = _without_exits(watched.callback)
    return command


class _Option(TyperOption):
    def process_value(self, ctx: Any, value: Any) -> Any:
        return _process_value(self, ctx, value, super().process_value)

    def get_help_record(self, ctx: Any) -> tuple[str, str] | None:
        return _plain_record(super().get_help_record(ctx))


class _Argument(TyperArgument):
    def process_value(self, ctx: Any, value: Any) -> Any:
        return _process_value(self, ctx, value, super().process_value)

    def get_help_record(self, ctx: Any) -> tuple[str, str] | None:
        return _plain_record(super().get_help_record(ctx))

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        name = self.metavar or str(self.name)
        return [(name if self.required else f"[{name}]") + ("..." if self.nargs != 1 else "")]


@cache
def _context_with_whole_words(context: type[Any]) -> type[Any]:
    """Return a context whose help breaks lines between words only, so that names with hyphens stay whole."""
    formatter: Any = context.formatter_class

    class WholeWordsFormatter(formatter):  # type: ignore[misc]
        def write(self, string: str) -> None:
            super().write(string.replace(_HYPHEN, "-"))

        def write_text(self, text: str) -> None:
            super().write_text(_INNER_HYPHEN.sub(_HYPHEN, text))

        def write_dl(self, rows: Iterable[tuple[str, str]], *arguments: Any, **named: Any) -> None:
            super().write_dl([(name, _INNER_HYPHEN.sub(_HYPHEN, text)) for name, text in rows], *arguments, **named)

    return type("WholeWordsContext", (context,), {"formatter_class": WholeWordsFormatter})


def _plain_record(record: tuple[str, str] | None) -> tuple[str, str] | None:
    r"""Return a line of the help without Python types and ranges, and with the default before the full stop.

    >>> _plain_record(("RUN <str>", "A run.  [required]"))
    ('RUN', 'A run [required].')
    >>> _plain_record(("-n N", "Number of cases.  [default: 50; 1<=x<=1000000000]"))
    ('-n N', 'Number of cases [default:\xa050].')
    """
    if record is None:
        return None
    text, bracket, extra = record[1].rpartition("  [")
    if bracket:
        kept = "; ".join(part for part in extra.removesuffix("]").split("; ") if not RANGE.search(part))
        text = f"{text.removesuffix('.')} [{kept}]." if kept else text
    text = text if bracket else record[1]
    return record[0].partition(" <")[0], text.replace("[default: ", "[default:\xa0")  # on one line with its value


def _process_value(parameter: Any, ctx: Any, value: Any, process: Callable[[Any, Any], Any]) -> Any:
    """Convert plain values and take over defaults as they are: typer loads pydantic to convert even None."""
    if parameter.required and parameter.value_is_missing(value):
        return process(ctx, value)
    if ctx.get_parameter_source(parameter.name).name != "DEFAULT":
        value, is_plain = _plain_value(parameter.type_descriptor, value)
        if not is_plain:
            return _number_or_refusal(parameter, ctx, value, process)
    elif parameter.type_descriptor.annotation == list[Path] and isinstance(value, tuple):
        value = [Path(path) for path in value]
    return parameter.callback(ctx, parameter, value) if parameter.callback else value


def _number_or_refusal(parameter: Any, ctx: Any, value: Any, process: Callable[[Any, Any], Any]) -> Any:
    """Convert a value, and refuse a wrong number in plain words instead of those of pydantic."""
    try:
        return process(ctx, value)
    except typer.BadParameter as error:
        descriptor = parameter.type_descriptor
        word = {int: "whole number", float: "number"}.get(descriptor.annotation)
        if word is None:
            raise
        least, most = descriptor.parameter_info.min, descriptor.parameter_info.max
        limits = f" from {least:,}" if least is not None else ""
        limits += f" to {most:,}" if most not in (None, flags.MAX_COUNT) else ""
        raise typer.BadParameter(f"{value!r} is not a {word}{limits}.", ctx=ctx, param=parameter) from error


def _plain_value(descriptor: Any, value: Any) -> tuple[Any, bool]:
    """Return a value in the type of its parameter, and whether it is of a kind that needs no further checks."""
    kind = descriptor.annotation
    if kind in (bool, str) and isinstance(value, kind):
        return value, True
    if kind in (list[str], list[Path]) and isinstance(value, (list, tuple)):
        return [get_args(kind)[0](item) for item in value], True
    if kind in (int, float) and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        least, most = descriptor.parameter_info.min, descriptor.parameter_info.max
        if (least is None or least <= int(value)) and (most is None or int(value) <= most):
            return kind(value), True
    return value, False


def _with_plain_parameters(command: Any) -> Any:
    """Convert only the parameters that need it, and show all in the same plain form in the help."""
    kinds: dict[type, type] = {TyperOption: _Option, TyperArgument: _Argument}
    for verb in getattr(command, "commands", {}).values():
        _with_plain_parameters(verb)
    command.context_class = _context_with_whole_words(command.context_class)
    for parameter in command.params:
        parameter.__class__ = kinds.get(type(parameter), type(parameter))
    return command


def _without_exits(verb: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(verb)
    def called(*args: Any, **named: Any) -> Any:
        try:
            return verb(*args, **named)
        except SystemExit as left:
            raise RunAbortedError(
                f"The user's code ended the command with SystemExit({left.code!r}) before the command finished."
            ) from left

    return called


def _prepare_streams() -> None:
    """Make the standard streams accept any text, and replace a missing stream with the null device."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  open to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _check_working_directory() -> None:
    """Raise ConfigError if the working directory does not exist any more: no relative path could be resolved."""
    try:
        Path.cwd()
    except OSError as error:
        reason = error.strerror or "it is gone"
        raise ConfigError(f"The working directory cannot be used ({reason}); change to one that exists.") from None


def _flush_streams() -> None:
    """Flush the streams, so that a write error is reported here and not by the interpreter at exit."""
    for stream in (sys.stdout, sys.stderr):
        if is_open(stream):
            try:
                stream.flush()
            except OSError as error:
                redirect_to_null(stream)
                if not isinstance(error, BrokenPipeError):
                    print_error(f"The output cannot be written: {error.strerror}.\n")


def _exit_despite_threads(left: BaseException | None) -> None:
    """Exit even if threads that a target has started do not end."""
    others = [t for t in threading.enumerate() if not t.daemon and t is not threading.current_thread()]
    if others:
        code = left.code if isinstance(left, SystemExit) else 1
        patience = threading.Timer(MAX_EXIT_SECONDS, _exit_now, (code if isinstance(code, int) else 0,))
        patience.daemon = True
        patience.start()


def _exit_now(code: int) -> None:
    print_error("Exited while threads that the target started were still running.\n")
    os._exit(code)
