"""`evalmark plan`: estimate what a run would do and cost."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evalmark.cli.terminal.output import output_look, print_line, print_text
from evalmark.core.lazy import need
from evalmark.inputs.datasets.case_filter import parse_filter
from evalmark.inputs.datasets.sharding import parse_shard
from evalmark.reports.terminal import forecast
from evalmark.runs.dry_run.estimate import estimate
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.execution.recorded_cases import recorded_cases
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.suite import plan_suite
from evalmark.runs.session.run_store import MemoryRunStore, RunStore
from evalmark.storage.store.location import store_exists
from evalmark.storage.store.store import open_store

from . import flags
from .run import Files

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from evalmark.core.settings import Settings


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command()(plan)


def plan(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    files: Files,
    target: flags.Target = None,
    model: flags.Model = None,
    judge: flags.Judge = None,
    repeat: flags.Repeat = None,
    limit: flags.Limit = None,
    filter: flags.Filter = None,  # noqa: A002  the flag's name
    shard: flags.Shard = None,
    replay: flags.Replay = None,
    jobs: flags.Jobs = None,
    max_cost: flags.MaxCost = None,
    max_calls: flags.MaxCalls = None,
    max_tokens: flags.MaxTokens = None,
    allow_code: flags.AllowCode = None,
    store: flags.Store = None,
) -> None:
    """Estimate what `run` would do: trials, calls per model, cached calls, tokens and cost.

    No request is sent and no target is called; the Python modules that a suite names are imported. -j and the budget
    flags of `run` are accepted and change nothing. Judge calls are estimated from the newest runs of the suite with the
    same target.
    """
    settings = flags.settings(**flags.settings_given(context))
    overrides = Overrides(target=target, models=tuple(model or ()), repeat=repeat, judges=tuple(judge or ()))
    conditions = flags.conditions(filter)
    only = parse_filter(conditions) if conditions else None
    share = None if shard is None else parse_shard(shard)
    with _open_run_store(settings.store) as run_store:
        conduct = RunOptions(store=run_store, settings=settings, limit=limit, only=only, shard=share)
        for path in files:
            wanted = plan_suite(path, settings, overrides, _no_weights, recorded_cases)
            print_text(forecast.forecast_screen(need("asyncio").run(estimate(wanted, conduct)), output_look()))
            if wanted.imported:
                print_line(f"  Imported to check what is named: {', '.join(wanted.imported)}. No target was called.")


def _open_run_store(path: str) -> "AbstractContextManager[RunStore]":
    """Open the store read-only, or an empty one in memory if there is none."""
    return open_store(path, read_only=True) if store_exists(path) else nullcontext(MemoryRunStore())


def _no_weights(name: str, settings: "Settings", folders: tuple[Path, ...]) -> None:
    """Load no embedding model: it costs nothing."""
