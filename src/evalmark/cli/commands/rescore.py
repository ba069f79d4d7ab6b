"""`evalmark rescore`: score the outputs of an earlier run again."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from evalmark.cli.terminal.command_line import repeat_command
from evalmark.cli.terminal.output import print_store_note
from evalmark.cli.terminal.progress import Progress
from evalmark.cli.terminal.run_command import RunDisplay, run_plan
from evalmark.cli.terminal.supervised import send_paths
from evalmark.runs.execution.rescore import RescoreRequest, plan_rescore
from evalmark.runs.planning.overrides import Overrides
from evalmark.storage.store.store import open_store

from . import flags
from .runs import RunReference

Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="A metric: a scorer, a metric file or module:attribute. Repeatable."),
]
Suite = Annotated[
    Path | None,
    typer.Option(
        "--suite", metavar="FILE", help="The suite with the metrics, judge and gate [default: that of the run]."
    ),
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(epilog=flags.exit_codes(flags.RUN_EXIT_CODES))(rescore)


def rescore(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    run: RunReference = "last",
    metric: Metrics = None,
    suite: Suite = None,
    judge: flags.Judge = None,
    embeddings: flags.Embeddings = None,
    resume: flags.Resume = None,
    output: flags.Reports = None,
    jobs: flags.Jobs = None,
    limit: flags.Limit = None,
    filter: flags.Filter = None,  # noqa: A002  the flag's name
    timeout: flags.Timeout = None,
    replay: flags.Replay = None,
    max_cost: flags.MaxCost = None,
    max_calls: flags.MaxCalls = None,
    max_tokens: flags.MaxTokens = None,
    connections: flags.Connections = None,
    rpm: flags.Rpm = None,
    tpm: flags.Tpm = None,
    call_timeout: flags.CallTimeout = None,
    retries: flags.Retries = None,
    on: flags.On = None,
    workers: flags.Workers = None,
    trust_cluster: flags.TrustCluster = None,
    mode: flags.Mode = None,
    device: flags.Device = None,
    offline: flags.Offline = None,
    allow_code: flags.AllowCode = None,
    env_file: flags.EnvFile = None,
    store: flags.Store = None,
    worst: flags.Worst = 5,
    quiet: flags.Quiet = False,
) -> None:
    """Score the outputs of a run again with other metrics or another judge, without calling the target.

    The result is a new run.
    """
    send_paths(() if suite is None else [suite], output or ())
    settings = flags.settings(**flags.settings_given(context))
    with open_store(settings.store, read_only=True, notes=print_store_note) as run_store:
        earlier = run_store.run(run)
    overrides = Overrides(embeddings=embeddings, timeout=timeout, judges=tuple(judge or ()))
    request = RescoreRequest(run=earlier, metrics=tuple(metric or ()), suite=suite, overrides=overrides)
    with Progress(quiet=quiet) as progress:
        plan = plan_rescore(request, settings, progress.loading)
    show = RunDisplay(reports=output or (), quiet=quiet, worst=worst, limit=limit, only=flags.conditions(filter))
    others = [argument for argument in context.obj[1:] if argument != run]
    show = replace(show, resume=resume, again=repeat_command(["rescore", earlier.id, *others]))
    raise typer.Exit(run_plan(plan, settings, show))
