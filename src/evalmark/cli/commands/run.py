"""`evalmark run`: run suites."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalmark.cli.terminal.command_line import NEWEST, repeat_command
from evalmark.cli.terminal.progress import Progress
from evalmark.cli.terminal.run_command import INTERRUPTED, RunDisplay, run_plan
from evalmark.cli.terminal.supervised import send_paths
from evalmark.core.errors import ConfigError
from evalmark.inputs.datasets.sharding import parse_shard
from evalmark.runs.execution.baseline import LAST_GREEN, NO_BASELINE
from evalmark.runs.execution.recorded_cases import recorded_cases
from evalmark.runs.execution.shards import shard_faults
from evalmark.runs.planning.check import raise_faults
from evalmark.runs.planning.models import Models
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.plan import Plan
from evalmark.runs.planning.suite import plan_suite
from evalmark.runs.session.run_session import check_plan

from . import flags

if TYPE_CHECKING:
    from evalmark.core.settings import Settings
    from evalmark.core.values.run import Shard

WORST_FIRST = (INTERRUPTED, 1, 3, 0)

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Suite files (YAML or JSON).")]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(epilog=flags.exit_codes(flags.RUN_EXIT_CODES))(run)


def run(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    files: Files,
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
    filter: flags.Filter = None,  # noqa: A002  the flag's name
    shard: flags.Shard = None,
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
    offline: flags.Offline = None,
    allow_code: flags.AllowCode = None,
    store: flags.Store = None,
    worst: flags.Worst = 5,
    quiet: flags.Quiet = False,
) -> None:
    """Run suites: send every case to the target, score every output and report pass or fail.

    With several suites, the worst exit code counts. With --shard, the gate waits for `evalmark merge`, and exit code 0
    means that every case of the shard ran.
    """
    send_paths(files, output or ())
    _refuse_mixed(files, output, resume, retry_errors)
    _refuse_one_baseline(files, baseline)
    share = _parse_shard_flag(shard, baseline)
    settings = flags.settings(**flags.settings_given(context))
    wanted = _make_plans(files, settings, _overrides(context.params), share, quiet=quiet)
    show = RunDisplay(reports=output or (), quiet=quiet, worst=worst, limit=limit, only=flags.conditions(filter))
    show = replace(show, baseline=baseline, allow_undecided=allow_undecided, shard=share)
    show = replace(show, resume=retry_errors or resume, retry_errors=retry_errors is not None)
    raise typer.Exit(_run_all(context.obj, list(zip(files, wanted, strict=True)), settings, show))


def _make_plans(
    files: Sequence[Path],
    settings: "Settings",
    overrides: "Overrides",
    share: "Shard | None",
    *,
    quiet: bool,
) -> "list[Plan]":
    """Plan all suites before the first one starts, so that no error shows up after money was spent.

    Raises:
        ConfigError: a suite cannot be used.
    """
    with Progress(quiet=quiet) as progress:
        wanted = [plan_suite(path, settings, overrides, progress.loading, recorded_cases) for path in files]
    raise_faults([fault for plan in wanted for fault in shard_faults(plan, share)])
    for plan in wanted if len(wanted) > 1 else ():
        check_plan(plan, plan.models or Models(settings=settings))
    return wanted


def _run_all(said: Any, wanted: Sequence[tuple[Path, "Plan"]], settings: "Settings", show: RunDisplay) -> int:
    """Run one suite after the other; return the worst exit code."""
    codes: list[int] = []
    for path, plan in wanted:
        again = repeat_command(said, [str(other) for other, _ in wanted if other != path])
        codes.append(run_plan(plan, settings, replace(show, again=again)))
        if codes[-1] == INTERRUPTED:
            break
    return min(codes, key=WORST_FIRST.index)


def _overrides(said: Mapping[str, Any]) -> "Overrides":
    """Return the flags that override the suite."""
    return Overrides(
        target=said["target"],
        models=tuple(said["model"] or ()),
        repeat=said["repeat"],
        embeddings=said["embeddings"],
        timeout=said["timeout"],
        judges=tuple(said["judge"] or ()),
        lock=said["lock"],
        until_decided=said["until_decided"],
        seed=said["seed"],
    )


def _parse_shard_flag(shard: str | None, baseline: str | None) -> "Shard | None":
    """Parse `--shard`. Raises ConfigError if it is malformed, or if a shard is to be compared with a whole run."""
    if shard is None:
        return None
    if baseline not in (None, NO_BASELINE):
        raise ConfigError(
            f"--baseline {baseline} needs a whole run; merge the shards, then compare the merged run with evalmark compare."
        )
    return parse_shard(shard)


def _refuse_mixed(files: list[Path], output: list[Path] | None, resume: str | None, retry_errors: str | None) -> None:
    """Raise ConfigError for flags that cannot be combined."""
    if len(files) > 1 and output:
        raise ConfigError("-o writes one run; with several suites, run them one at a time or use `evalmark report`.")
    if resume and retry_errors:
        raise ConfigError("--retry-errors also resumes the run; leave --resume out.")
    for flag, run_id in (("--resume", resume), ("--retry-errors", retry_errors)):
        if len(files) > 1 and run_id not in (None, NEWEST):
            raise ConfigError(f"{flag} {run_id} is one run; name only its suite, or leave the run's id out.")


def _refuse_one_baseline(files: list[Path], baseline: str | None) -> None:
    """Raise ConfigError if one run is named as the baseline of several suites."""
    if len(files) > 1 and baseline not in (None, LAST_GREEN, NO_BASELINE):
        raise ConfigError(
            f"--baseline {baseline} is one run; with several suites, name {LAST_GREEN} or run them one at a time."
        )
