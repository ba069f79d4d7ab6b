"""`evalmark merge`: one run out of shards."""

from typing import Annotated

import typer

from evalmark.cli.terminal.merge_command import MergeOptions, run_merge
from evalmark.core.errors import ConfigError

from . import flags

Shards = Annotated[
    list[str],
    typer.Argument(
        metavar="SHARD...", help="Files of runs, the newest of each suite; or FILE@RUN, or the id of a run."
    ),
]
Into = Annotated[
    list[str] | None,
    typer.Option(
        "-o", "--output", metavar="FILE|ADDRESS", help="Where the whole goes; made where there is none [--store]."
    ),
]


def add(app: typer.Typer) -> None:
    """Put the verb on the command line."""
    app.command()(merge)


def merge(
    shards: Shards,
    output: Into = None,
    store: flags.Store = None,
    worst: flags.Worst = 5,
    quiet: flags.Quiet = False,
) -> None:
    """Make one run of the shards of a suite, the run that one machine would have made, and judge it as `run` does.

    Of several suites each becomes a run. Exit codes are those of `run`, the worst of several. With a shard lost or broken
    off the run is incomplete: 3, or 1 where the gate fails whatever is missing. 2: they are no shards of one run, or one
    is there twice; nothing is written.
    """
    source = flags.settings(store=store).store
    place, *more = output or [source]
    if more:  # a list, since of a single flag the last one would count without a word
        raise ConfigError(
            f"-o names one store for the whole, and there are {', '.join([place, *more])}; name one of them."
        )
    raise typer.Exit(run_merge(shards, source, MergeOptions(place=place, worst=worst, quiet=quiet)))
