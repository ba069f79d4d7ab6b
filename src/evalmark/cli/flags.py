"""Flags that several verbs share."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from evalmark.settings import Settings, load

MOST = 1_000_000_000
"""The largest whole number a flag takes."""

Store = Annotated[
    str | None, typer.Option("--store", metavar="FILE", help="Where runs are kept [.evalmark/evalmark.db].")
]
Jobs = Annotated[int | None, typer.Option("-j", "--jobs", help="Trials answered at the same time [10].")]
Timeout = Annotated[float | None, typer.Option("--timeout", metavar="SECONDS", help="Time limit of one trial.")]
Limit = Annotated[
    int | None, typer.Option("-n", "--limit", min=1, max=MOST, help="Only the first N cases of each dataset.")
]
Reports = Annotated[
    list[Path] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write a report; its ending says which: .json .jsonl .csv .md .html .junit.xml. Repeatable.",
    ),
]
Worst = Annotated[
    int, typer.Option("--worst", metavar="N", min=0, max=MOST, help="How many of the worst cases to show.")
]
Offline = Annotated[bool | None, typer.Option("--offline/--online", help="Fetch no model weights.", show_default=False)]
Mode = Annotated[
    str | None, typer.Option("--mode", metavar="exact|fast", help="Arithmetic of the local embedding model [exact].")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no table; reports and exit code only.")]


def settings(**flags: Any) -> Settings:
    """The settings in force here, with what the command line says on top."""
    return load(os.environ, Path.cwd(), flags)


SETTINGS = {field.name for field in fields(Settings)} | {"mode", "model"}
"""Flags that stand for a setting, which has a variable already."""


def with_variables(command: Any) -> Any:
    """A command whose every flag has a variable: `EVALMARK_REPEAT=3` is as good as `--repeat 3`.

    Those of settings are read with the settings. A flag that ends the program has none.
    """
    for verb in getattr(command, "commands", {}).values():
        with_variables(verb)
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.is_eager and parameter.name not in SETTINGS:
            parameter.envvar = f"EVALMARK_{parameter.name.upper()}"
            parameter.show_envvar = False  # the page on commands says it once for all
    return command
