"""`evalmark run`: run suites."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.command_line import NEWEST
from evalmark.cli.terminal.supervised import send_paths
from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule

from . import flags

if TYPE_CHECKING:
    from evalmark.cli.commands import suite_files
    from evalmark.cli.terminal import run_command
    from evalmark.cli.terminal import watch as watching
    from evalmark.core.values import run as runs
    from evalmark.runs.planning.plan import Plan
    from evalmark.storage.results import run_ids
else:
    suite_files = LazyModule("evalmark.cli.commands.suite_files")
    run_command = LazyModule("evalmark.cli.terminal.run_command")
    watching = LazyModule("evalmark.cli.terminal.watch")
    runs = LazyModule("evalmark.core.values.run")
    run_ids = LazyModule("evalmark.storage.results.run_ids")

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Suites (YAML or JSON), or folders of suites [default: evalmark.yaml, else the folder evals].",
        show_default=False,
    ),
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(epilog=flags.exit_codes(flags.RUN_EXIT_CODES))(run)


def run(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    files: Files = None,
    target: flags.Target = None,
    model: flags.Model = None,
    judge: flags.Judge = None,
    lock: flags.Lock = None,
    repeat: flags.Repeat = None,
    until_decided: flags.UntilDecided = False,
    seed: flags.Seed = None,
    baseline: flags.Baseline = None,
    allow_undecided: flags.AllowUndecided = False,
    resume: flags.Resume = None,
    retry_errors: flags.RetryErrors = None,
    embeddings: flags.Embeddings = None,
    output: flags.Reports = None,
    jobs: flags.Jobs = None,
    limit: flags.Limit = None,
    sample: flags.Sample = None,
    filter: flags.Filter = None,  # noqa: A002  the flag's name
    shard: flags.Shard = None,
    name: flags.Name = None,
    tag: flags.Tag = None,
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
    isolate: flags.Isolate = None,
    mode: flags.Mode = None,
    device: flags.Device = None,
    offline: flags.Offline = None,
    allow_code: flags.AllowCode = None,
    env_file: flags.EnvFile = None,
    store: flags.Store = None,
    watch: flags.Watch = False,
    worst: flags.Worst = 5,
    quiet: flags.Quiet = False,
) -> None:
    """Run suites: send every case to the target, score every output and report pass or fail.

    Without FILE, the setting `suites`, evalmark.yaml or the folder evals is run. With several suites, the worst exit code
    counts. With --shard, `evalmark merge` applies the gate, and exit code 0 means that every case of the shard ran.
    """
    settings = flags.settings(**flags.settings_given(context))
    named, files = files or [], suite_files.find_suites(files or (), settings)
    if watch:
        watching.refuse_with_watch({"--resume": resume, "--retry-errors": retry_errors, "--shard": shard})
        raise typer.Exit(watching.watch_suites(context.obj, files, settings.store))
    send_paths(files, output or ())
    _refuse_mixed(files, output, resume, retry_errors)
    run_command.refuse_one_baseline(files, baseline)
    share = run_command.parse_shard_flag(shard, baseline)
    show = run_command.RunDisplay(
        reports=output or (),
        quiet=quiet,
        worst=worst,
        limit=limit,
        sample=None if sample is None else runs.Sample(size=sample, seed=seed or 0),
        only=flags.conditions(filter),
        name="" if name is None else run_ids.parse_run_name(name),
        tags=run_ids.parse_run_tags(tag or ()),
        baseline=baseline,
        allow_undecided=allow_undecided,
        shard=share,
        resume=retry_errors or resume,
        retry_errors=retry_errors is not None,
    )
    arguments = suite_files.with_files(context.obj, named, files)
    plans: list[Plan] = []
    with watching.reported_files(plans):
        plans += run_command.plan_suites(files, settings, run_command.overrides(context.params), share, quiet=quiet)
        raise typer.Exit(run_command.run_plans(arguments, list(zip(files, plans, strict=True)), settings, show))


def _refuse_mixed(files: list[Path], output: list[Path] | None, resume: str | None, retry_errors: str | None) -> None:
    """Raise ConfigError for flags that cannot be combined."""
    if len(files) > 1 and output:
        raise ConfigError("-o writes one run; with several suites, run them one at a time or use `evalmark report`.")
    if resume and retry_errors:
        raise ConfigError("--retry-errors also resumes the run; leave --resume out.")
    for flag, run_id in (("--resume", resume), ("--retry-errors", retry_errors)):
        if len(files) > 1 and run_id not in (None, NEWEST):
            raise ConfigError(f"{flag} {run_id} is one run; name only its suite, or leave the run's id out.")
