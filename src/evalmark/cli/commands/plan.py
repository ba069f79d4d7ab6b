"""`evalmark plan`: estimate what a run would do and cost."""

from contextlib import nullcontext
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.output import print_line, print_text, terminal_style
from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule, need
from evalmark.core.values.run import Sample
from evalmark.inputs.datasets.case_filter import parse_filter
from evalmark.inputs.datasets.sharding import parse_shard
from evalmark.reports.terminal import forecast
from evalmark.runs.dry_run.estimate import MAX_SEARCHED_RUNS, estimate
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.execution.recorded_cases import recorded_cases
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.suite import plan_suite
from evalmark.runs.session.run_store import MemoryRunStore, RunStore
from evalmark.storage.store.location import store_exists
from evalmark.storage.store.store import open_store

from . import flags
from .run import Files
from .suite_files import find_suites

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from evalmark.core.settings import Settings
    from evalmark.reports.terminal import sample_size as sample_size_text
    from evalmark.runs.planning.plan import Plan
    from evalmark.stats.comparison import sample_size
else:
    sample_size = LazyModule("evalmark.stats.comparison.sample_size")
    sample_size_text = LazyModule("evalmark.reports.terminal.sample_size")


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command()(plan)


def plan(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    files: Files = None,
    target: flags.Target = None,
    model: flags.Model = None,
    judge: flags.Judge = None,
    repeat: flags.Repeat = None,
    limit: flags.Limit = None,
    sample: flags.Sample = None,
    seed: flags.Seed = None,
    filter: flags.Filter = None,  # noqa: A002  the flag's name
    shard: flags.Shard = None,
    replay: flags.Replay = None,
    jobs: flags.Jobs = None,
    max_cost: flags.MaxCost = None,
    max_calls: flags.MaxCalls = None,
    max_tokens: flags.MaxTokens = None,
    detect: Annotated[
        float | None,
        typer.Option("--detect", metavar="D", help="Also show how many cases detect a difference of D, 0 to 1."),
    ] = None,
    power: Annotated[
        float | None,
        typer.Option("--power", metavar="P", help="Probability of detecting it, 0 to 1 (default 0.8); needs --detect."),
    ] = None,
    allow_code: flags.AllowCode = None,
    env_file: flags.EnvFile = None,
    store: flags.Store = None,
) -> None:
    """Estimate what `run` would do: trials, calls per model, cached calls, tokens and cost.

    No request is sent and no target is called; the Python modules that a suite names are imported. -j and the budget
    flags of `run` are accepted and change nothing. Judge calls are estimated from the newest runs of the suite with the
    same target.
    """
    if power is not None and detect is None:
        raise ConfigError("--power P is the probability of detecting a difference: add --detect D.")
    if detect is not None:
        sample_size.check_effect(detect, power)
    settings = flags.settings(**flags.settings_given(context))
    overrides = Overrides(target=target, models=tuple(model or ()), repeat=repeat, judges=tuple(judge or ()))
    conditions = flags.conditions(filter)
    only = parse_filter(conditions) if conditions else None
    share = None if shard is None else parse_shard(shard)
    with _open_run_store(settings.store) as run_store:
        options = RunOptions(
            store=run_store,
            settings=settings,
            limit=limit,
            only=only,
            sample=None if sample is None else Sample(size=sample, seed=seed or 0),
            shard=share,
        )
        for path in find_suites(files or (), settings):
            suite_plan = plan_suite(path, settings, overrides, _no_weights, recorded_cases)
            print_text(forecast.forecast_screen(need("asyncio").run(estimate(suite_plan, options)), terminal_style()))
            if suite_plan.imported:
                print_line(f"  Imported {', '.join(suite_plan.imported)} for this check; no target was called.")
            if detect is not None:
                print_text(_sample_size(suite_plan, run_store, detect, power))


def _sample_size(plan: "Plan", store: RunStore, effect: float, power: float | None) -> str:
    """Show how many cases detect a difference, judged by earlier runs of the suite."""
    name = (plan.name, PurePath(plan.suite).name)
    same = (run for run in store.runs(MAX_SEARCHED_RUNS) if (run.name, PurePath(run.suite).name) == name)
    sizes = sample_size.sample_size_plan(same, effect, power, repeat=plan.repeat)
    return sample_size_text.sample_size_screen(sizes, terminal_style())


def _open_run_store(path: str) -> "AbstractContextManager[RunStore]":
    """Open the store read-only, or an empty one in memory if there is none."""
    return open_store(path, read_only=True) if store_exists(path) else nullcontext(MemoryRunStore())


def _no_weights(name: str, settings: "Settings", folders: tuple[Path, ...]) -> None:
    """Load no embedding model, since it costs nothing."""
