"""Flags that several verbs share."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from evalmark.cli.terminal.reading import read_here
from evalmark.core.settings import Settings, load_settings

MAX_COUNT = 1_000_000_000
"""The largest whole number a flag takes."""
MAX_REPEATS = 10_000
"""As in suites."""

Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE|ADDRESS",
        help="Where runs are kept: a file, or postgresql://… for a team [.evalmark/evalmark.db].",
    ),
]
MaxUnscored = Annotated[
    int | None, typer.Option("--max-unscored", min=0, max=MAX_COUNT, help="Gate: trials left without a judgement [0].")
]
MaxErrors = Annotated[
    int | None, typer.Option("--max-errors", min=0, max=MAX_COUNT, help="Gate: trials that may break [0].")
]
Jobs = Annotated[int | None, typer.Option("-j", "--jobs", help="Trials answered at the same time [10].")]
Timeout = Annotated[float | None, typer.Option("--timeout", metavar="SECONDS", help="Time limit of one trial.")]
Limit = Annotated[
    int | None, typer.Option("-n", "--limit", min=1, max=MAX_COUNT, help="Only the first N cases of each dataset.")
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
    int, typer.Option("--worst", metavar="N", min=0, max=MAX_COUNT, help="How many of the worst cases to show.")
]
Offline = Annotated[bool | None, typer.Option("--offline/--online", help="Fetch no model weights.", show_default=False)]
Mode = Annotated[
    str | None,
    typer.Option("--mode", metavar="exact|fast|int8", help="Arithmetic of the local embedding model [exact]."),
]
Model = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="PROVIDER/MODEL",
        help="The model under test, alone or with a prompt; wins over the suite's. Repeatable: each is asked every case.",
    ),
]
Judge = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="PROVIDER/MODEL",
        help="The model that judges; wins over the suite's. Repeatable: each judges for itself.",
    ),
]
Lock = Annotated[
    str | None,
    typer.Option("--lock", metavar="FILE", help="Learned thresholds (evalmark calibrate); wins over the suite's."),
]
Target = Annotated[
    str | None, typer.Option("--target", metavar="MODULE:ATTR", help="What to test; wins over the suite's target.")
]
Embeddings = Annotated[
    str | None,
    typer.Option("--embeddings", metavar="NAME", help="Embedding model: a name, a folder or module:attribute."),
]
Repeat = Annotated[
    int | None, typer.Option("--repeat", min=1, max=MAX_REPEATS, help="How often each case is answered [1].")
]
UntilDecided = Annotated[
    bool,
    typer.Option("--until-decided", help="Stop as soon as the gate is decided; cases are asked in a random order."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, max=MAX_COUNT, help="Of the random order of --until-decided [any].")
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="[RUN]",
        help="Go on with an unfinished run of the suite; without RUN, the newest.",
    ),
]
RetryErrors = Annotated[
    str | None,
    typer.Option(
        "--retry-errors",
        metavar="[RUN]",
        help="Run what ended in an error again, in a run of the suite; without RUN, the newest.",
    ),
]
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="WHICH",
        help="Only some cases: tag=NAME, id=PATTERN, dataset=PATTERN, metadata.KEY=PATTERN, or part of an id. "
        "Repeatable: all have to hold.",
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard", metavar="K/N", help="Only a share of the cases, as 2/4; `evalmark merge` makes one run of all."
    ),
]
Replay = Annotated[
    str | None,
    typer.Option(
        "--replay",
        metavar="MODE",
        help="Recorded replies of models: auto uses them, off and record ask anew, strict sends nothing [auto].",
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="DOLLARS", help="Send no further model call once they have come to this."),
]
MaxCalls = Annotated[int | None, typer.Option("--max-calls", metavar="N", help="Send no more model calls than this.")]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", metavar="N", help="Send no further model call once they have come to this, in and out."
    ),
]
Connections = Annotated[
    int | None, typer.Option("--connections", metavar="N", help="Model calls at the same time at one endpoint [as -j].")
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="PLACE",
        help="Where trials run: local, ray, ray:auto or ray://HOST:PORT [local].",
        show_default=False,
    ),
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Processes of Ray that answer and judge [one a processor].")
]
TrustCluster = Annotated[
    bool | None,
    typer.Option("--trust-cluster", help="Use a Ray cluster also where it takes anybody's work.", show_default=False),
]
AllowCode = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-code",
        metavar="PACKAGE",
        help="A package whose code the suite may name beside its own project's. Repeatable.",
    ),
]
Isolate = Annotated[
    bool | None,
    typer.Option(
        "--isolate/--no-isolate",
        help="Ask Python targets in worker processes: a crash is an error of its case, and the others finish.",
        show_default=False,
    ),
]
Rpm = Annotated[float | None, typer.Option("--rpm", metavar="N", help="Requests a minute to one endpoint.")]
Tpm = Annotated[float | None, typer.Option("--tpm", metavar="N", help="Tokens a minute to one endpoint.")]
CallTimeout = Annotated[
    float | None,
    typer.Option("--call-timeout", metavar="SECONDS", help="Time limit of one attempt of a model call [120]."),
]
Retries = Annotated[
    int | None, typer.Option("--retries", metavar="N", help="Further attempts after a fault that may pass [5].")
]
AllowUndecided = Annotated[
    bool, typer.Option("--allow-undecided", help="Exit code 0 where a comparison cannot tell better from worse.")
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="RUN",
        help="Compare with an earlier run: an id, last, last-green, or none; wins over the suite's.",
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no table; reports and exit code only.")]


def settings(**flags: Any) -> Settings:
    """The settings in force here, with what the command line says on top."""
    return load_settings(os.environ, Path.cwd(), flags)


def settings_given(context: typer.Context) -> dict[str, Any]:
    """What the command line says of settings, by their names; who judges is said to the suite instead."""
    named = {"embedding_mode": context.params.get("mode"), **context.params}
    said = {
        f.name: named[f.name] for f in fields(Settings) if f.name in named and f.name not in ("judge", "embeddings")
    }
    return {name: None if value in ([], ()) else value for name, value in said.items()}  # repeatable, and not there


def conditions(given: list[str] | None) -> list[str]:
    """What `--filter` says, else its variable, where conditions stand between commas: patterns may hold spaces."""
    said = os.environ.get("EVALMARK_FILTER", "")
    return given or [condition.strip() for condition in said.split(",") if condition.strip()]


SETTINGS = {field.name for field in fields(Settings)} | {"mode", "model", "filter"}
"""Flags whose variable is read by us: those of settings, and conditions."""


DESTRUCTIVE = ("clear", "note")
"""Verbs that delete, or that say something in the name of a person."""


def with_variables(command: Any) -> Any:
    """A command whose every flag has a variable: `EVALMARK_REPEAT=3` is as good as `--repeat 3`.

    Those of settings are read with the settings. A flag that ends the program has none, and neither have those of
    verbs that delete or speak for a person: a variable that was forgotten must not.
    """
    for verb in getattr(command, "commands", {}).values():
        with_variables(verb)
    read_here(command)
    for parameter in command.params if command.name not in DESTRUCTIVE else ():
        if parameter.param_type_name == "option" and not parameter.is_eager and parameter.name not in SETTINGS:
            parameter.envvar = f"EVALMARK_{parameter.name.upper()}"
            parameter.show_envvar = False  # the page on commands says it once for all
    return command
