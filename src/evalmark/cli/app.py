"""The program: its verbs, and one place where errors become a sentence and an exit code."""

import os
import signal
import sys

import typer

from evalmark.errors import EvalmarkError

from .doctor import add as add_doctor
from .models import add as add_models
from .rag import add as add_rag
from .run import add as add_run
from .runs import add as add_runs
from .words import with_resume_value

USAGE = 2

app = typer.Typer(
    name="evalmark",
    help="Is it better, worse, or the same? Evaluations for teams that build on language models.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
add_run(app)
add_rag(app)
add_runs(app)
add_models(app)
add_doctor(app)


def main(words: list[str] | None = None) -> None:
    """Run one command and leave with its exit code: 0, 1, 2, 3 or 130."""
    if hasattr(signal, "SIGPIPE"):  # `evalmark list | head` ends quietly
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    words = with_resume_value(sys.argv[1:] if words is None else words)
    try:
        app(args=words, prog_name="evalmark", obj=words)
    except EvalmarkError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(USAGE) from None
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        sys.stderr.flush()
        os._exit(130)
