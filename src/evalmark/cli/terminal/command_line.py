"""Arguments of the command line: completion before parsing, and commands to print."""

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need
from evalmark.core.settings import load_settings

NEWEST = "newest"
"""The value of `--resume` or `--retry-errors` without a run."""
RUN_FLAGS = ("--resume", "--retry-errors")
"""Flags with an optional run id."""
SUITES = (".json", ".yaml", ".yml", ".prompty")


def complete_words(arguments: Sequence[str]) -> list[str]:
    """Add the default value of `--resume` and `--retry-errors`, and the verb `run` before a suite.

    >>> complete_words(["run", "suite.yaml", "--resume"])
    ['run', 'suite.yaml', '--resume=newest']
    >>> complete_words(["run", "--resume", "20261121-143205-k3f9", "suite.yaml"])
    ['run', '--resume', '20261121-143205-k3f9', 'suite.yaml']
    >>> complete_words(["tests/tutor.json", "-j", "4"])
    ['run', 'tests/tutor.json', '-j', '4']
    """
    verb = ["run"] if arguments and Path(arguments[0]).suffix in SUITES else []
    return verb + [
        f"{argument}={NEWEST}"
        if argument in RUN_FLAGS and not _is_run(arguments[number + 1 : number + 2])
        else argument
        for number, argument in enumerate(arguments)
    ]


def repeat_command(arguments: Sequence[str], others: Sequence[str] = ()) -> str:
    """Return the command for a shell, without `--resume`, `--retry-errors` and the arguments in `others`.

    >>> repeat_command(["run", "my suite.yaml", "--store", "a.db", "--resume", "20261121-143205-k3f9"])
    "evalmark run 'my suite.yaml' --store a.db"
    >>> repeat_command(["run", "suite.yaml", "--store", "postgresql://ann:secret@db/evals"])
    'evalmark run suite.yaml --store postgresql://ann@db/evals'
    """
    left_out = {
        number for number, argument in enumerate(arguments) if argument.startswith(RUN_FLAGS) or argument in others
    }
    left_out |= {number + 1 for number, argument in enumerate(arguments) if argument in RUN_FLAGS}
    shown = need("evalmark.storage.postgres.addresses").without_password
    return shlex.join(
        ["evalmark", *(shown(argument) for number, argument in enumerate(arguments) if number not in left_out)]
    )


def store_flag(store: str) -> str:
    """Return ` --store …` for commands that need it, or an empty text for the default store.

    Raises:
        ConfigError: the settings cannot be read.
    """
    own = load_settings(os.environ, Path.cwd()).store
    return (
        ""
        if store == own
        else f" --store {shlex.quote(need('evalmark.storage.postgres.addresses').without_password(store))}"
    )


def refuse_overwriting(read: Iterable[Path | str | None], reports: Sequence[Path]) -> None:
    """Refuse reports that would overwrite a file that the run has `read`.

    Raises:
        ConfigError: a report would.
    """
    inputs = {os.path.realpath(name) for name in read if name}
    for path in reports:
        if os.path.realpath(path) in inputs:
            raise ConfigError(
                f"{path}: the run reads this file, so a report must not overwrite it; name another file with -o."
            )


def _is_run(following: Sequence[str]) -> bool:
    """Whether the next argument is a run id: neither a flag nor a file."""
    return bool(following) and not following[0].startswith("-") and not Path(following[0]).suffix
