"""Flags that several verbs share."""

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from evalmark.core.settings import Settings
from evalmark.inputs.secrets.env_file import settings_with_env_file

MAX_COUNT = 1_000_000_000
"""The largest whole number a flag takes."""
MAX_REPEATS = 10_000
"""The same limit as in suites."""

Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE|ADDRESS",
        help="The store of runs: a file, or a postgresql://… address [default: .evalmark/evalmark.db].",
    ),
]
MaxUnscored = Annotated[
    int | None,
    typer.Option(
        "--max-unscored",
        metavar="N",
        min=0,
        max=MAX_COUNT,
        help="Gate: how many trials may stay unscored [default: 0].",
    ),
]
MaxErrors = Annotated[
    int | None,
    typer.Option(
        "--max-errors",
        metavar="N",
        min=0,
        max=MAX_COUNT,
        help="Gate: how many trials may end in an error [default: 0].",
    ),
]
Jobs = Annotated[
    int | None, typer.Option("-j", "--jobs", metavar="N", help="How many trials run at the same time [default: 10].")
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="SECONDS", help="Time limit in seconds for each target call and each scorer call."
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "-n", "--limit", metavar="N", min=1, max=MAX_COUNT, help="Run only the first N cases of each dataset."
    ),
]
Reports = Annotated[
    list[Path] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write a report; the file extension selects the format: .json .jsonl .csv .md .html .junit.xml. Repeatable.",
    ),
]
Worst = Annotated[
    int, typer.Option("--worst", metavar="N", min=0, max=MAX_COUNT, help="Number of worst cases to show.")
]
Offline = Annotated[
    bool | None, typer.Option("--offline/--online", help="Do not download model weights.", show_default=False)
]
Mode = Annotated[
    str | None,
    typer.Option("--mode", metavar="exact|fast|int8", help="Arithmetic of the local embedding model [default: exact]."),
]
Device = Annotated[
    str | None,
    typer.Option("--device", metavar="cpu|gpu", help="Where the local embedding model runs [default: cpu]."),
]
Model = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="PROVIDER/MODEL",
        help="The model under test, alone or with a prompt; overrides the suite. Repeatable: every model gets every case.",
    ),
]
Judge = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="PROVIDER/MODEL",
        help="The judge model; overrides the suite. Repeatable: every judge scores every output.",
    ),
]
Lock = Annotated[
    str | None,
    typer.Option("--lock", metavar="FILE", help="Learned thresholds (see evalmark calibrate); overrides the suite."),
]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="MODULE:ATTR", help="The system under test; overrides the suite's target."),
]
Embeddings = Annotated[
    str | None,
    typer.Option("--embeddings", metavar="NAME", help="Embedding model: a name, a folder or module:attribute."),
]
Repeat = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="N",
        min=1,
        max=MAX_REPEATS,
        help="How many times each case runs, at most 10,000 [default: 1].",
    ),
]
UntilDecided = Annotated[
    bool,
    typer.Option("--until-decided", help="Stop as soon as the gate is decided; cases run in random order."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=MAX_COUNT,
        help="Seed of --sample [default: 0] and of the random order of --until-decided [default: random].",
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(
        "--sample",
        metavar="N",
        min=1,
        max=MAX_COUNT,
        help="Run a random sample of N cases of each dataset; the same seed draws the same cases.",
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="[RUN]",
        help="Resume an unfinished run of the suite: RUN, or the newest.",
    ),
]
RetryErrors = Annotated[
    str | None,
    typer.Option(
        "--retry-errors",
        metavar="[RUN]",
        help="Repeat the trials of a run that ended in an error: RUN, or the newest.",
    ),
]
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="WHICH",
        help="Run only some cases: tag=NAME, id=PATTERN, dataset=PATTERN, metadata.KEY=PATTERN, or part of an id. "
        "Repeatable: a case has to match all.",
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="K/N",
        help="Run one share of the cases, such as 2/4; combine the shares with `evalmark merge`.",
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Name this run; the name can be used in place of its id, and means the newest run that has it.",
    ),
]
Tag = Annotated[
    list[str] | None,
    typer.Option(
        "--tag", metavar="TAG", help="Tag this run: a word or key=value; see `evalmark list tag:TAG`. Repeatable."
    ),
]
Replay = Annotated[
    str | None,
    typer.Option(
        "--replay",
        metavar="MODE",
        help="Recorded model replies: auto reuses them, record replaces them, off ignores them, strict uses only them and sends no request [default: auto].",
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="DOLLARS", help="Stop sending model calls at this cost."),
]
MaxCalls = Annotated[int | None, typer.Option("--max-calls", metavar="N", help="Stop sending model calls after N.")]
MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", help="Stop sending model calls after N input and output tokens."),
]
Connections = Annotated[
    int | None,
    typer.Option("--connections", metavar="N", help="Concurrent model calls to one endpoint [default: as -j]."),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="PLACE",
        help="Where trials run: local, ray, ray:auto or ray://HOST:PORT [default: local].",
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", help="Number of Ray worker processes [default: one per processor]."),
]
TrustCluster = Annotated[
    bool | None,
    typer.Option("--trust-cluster", help="Use a Ray cluster that does not ask for a token.", show_default=False),
]
AllowCode = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-code",
        metavar="NAME",
        help="Allow the suite to name code of this package, or this program, besides those of its project. Repeatable.",
    ),
]
Watch = Annotated[
    bool,
    typer.Option("--watch", help="Run again when a suite, a dataset, a prompt or the target's code changes."),
]
EnvFile = Annotated[
    str | None,
    typer.Option("--env-file", metavar="FILE", help="Read environment variables from a file; those already set win."),
]
Isolate = Annotated[
    bool | None,
    typer.Option(
        "--isolate/--no-isolate",
        help="Run Python targets in worker processes: a crash fails one case, and the others finish.",
        show_default=False,
    ),
]
Rpm = Annotated[float | None, typer.Option("--rpm", metavar="N", help="Requests per minute to one endpoint.")]
Tpm = Annotated[float | None, typer.Option("--tpm", metavar="N", help="Tokens per minute to one endpoint.")]
CallTimeout = Annotated[
    float | None,
    typer.Option("--call-timeout", metavar="SECONDS", help="Time limit of one attempt of a model call [default: 120]."),
]
Retries = Annotated[
    int | None, typer.Option("--retries", metavar="N", help="Retries after a temporary error [default: 5].")
]
AllowUndecided = Annotated[bool, typer.Option("--allow-undecided", help="Exit with 0 if the comparison cannot tell.")]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="RUN",
        help="Compare with an earlier run: an id, last, last-green, FILE@RUN of another store, or none; overrides the suite.",
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("-q", "--quiet", help="Print no progress and no table; only write reports and set the exit code."),
]


def exit_codes(meanings: Mapping[int, str]) -> str:
    """Format exit codes as a table for the end of a help page.

    >>> print(exit_codes({0: "passed", 130: "interrupted"}).removeprefix(chr(8)))
    <BLANKLINE>
    Exit codes:
      0    passed
      130  interrupted
    """
    rows = "".join(f"\n  {code:<3}  {meaning}" for code, meaning in meanings.items())
    return f"\b\nExit codes:{rows}"  # typer wraps no lines after a backspace


RUN_EXIT_CODES = {
    0: "the gate passes, or nothing was gated",
    1: "the gate fails, or the run is worse than its baseline",
    2: "usage error, or an invalid file, setting, model or store",
    3: "cannot tell: errors, unscored trials, a spent budget, or no cases",
    130: "interrupted; finished results are stored",
}
"""Exit codes of the verbs that run trials."""


def settings(**flags: Any) -> Settings:
    """Load the settings of this folder, overridden by the flags, and the variables of the env file that they name."""
    return settings_with_env_file(Path.cwd(), flags)


def settings_given(context: typer.Context) -> dict[str, Any]:
    """Return the flags that are settings, by setting name; judges and embeddings override the suite instead."""
    values = {"embedding_mode": context.params.get("mode"), **context.params}
    given = {
        f.name: values[f.name] for f in fields(Settings) if f.name in values and f.name not in ("judge", "embeddings")
    }
    return {name: None if value in ([], ()) else value for name, value in given.items()}  # repeatable, and not there


def conditions(flags: list[str] | None) -> list[str]:
    """Return the conditions of `--filter`, or those of its variable, separated by commas since patterns may hold spaces."""
    variable = os.environ.get("EVALMARK_FILTER", "")
    return flags or [condition.strip() for condition in variable.split(",") if condition.strip()]


SETTINGS = {field.name for field in fields(Settings)} | {"mode", "model", "filter"}
"""Flags whose environment variable evalmark reads itself: the settings, and `--filter`."""


DESTRUCTIVE = ("clear", "delete", "note", "prune")
"""Verbs that delete, or that label in the name of a person."""


def with_variables(command: Any) -> Any:
    """Give every flag an environment variable: `EVALMARK_REPEAT=3` means `--repeat 3`.

    The variables of settings are read with the settings. Flags that end the program get none, and neither do the flags
    of destructive verbs: a forgotten variable must not delete anything or label in somebody's name.
    """
    for verb in getattr(command, "commands", {}).values():
        with_variables(verb)
    for parameter in command.params if command.name not in DESTRUCTIVE else ():
        if parameter.param_type_name == "option" and not parameter.is_eager and parameter.name not in SETTINGS:
            parameter.envvar = f"EVALMARK_{parameter.name.upper()}"
            parameter.show_envvar = False  # docs/reference/commands.md documents it once
    return command
