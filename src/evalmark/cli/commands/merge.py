"""`evalmark merge`: merge shards into one run."""

from typing import Annotated

import typer

from evalmark.cli.terminal.merge_command import run_merge
from evalmark.core.errors import ConfigError

from . import flags

Shards = Annotated[
    list[str],
    typer.Argument(metavar="SHARD", help="A store file (its newest shard of each suite), FILE@RUN, or a run's id."),
]
Into = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE|ADDRESS",
        help="The store for the merged run; created if missing [default: --store].",
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no table; only set the exit code.")]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(
        epilog=flags.exit_codes(
            flags.RUN_EXIT_CODES
            | {
                1: "the gate fails",
                2: "not shards of one run, or a shard given twice; nothing is written",
                3: "cannot tell, or a shard is missing or incomplete",
            }
        )
    )(merge)


def merge(
    shards: Shards,
    output: Into = None,
    store: flags.Store = None,
    worst: flags.Worst = 5,
    quiet: Quiet = False,
) -> None:
    """Merge the shards of a suite into the run that one machine would have produced, and apply its gate.

    Shards of several suites become one run per suite, and the worst exit code counts.
    """
    source = flags.settings(store=store).store
    target, *more = output or [source]
    if more:  # a list: of a single flag, typer would use the last value without a warning
        raise ConfigError(
            f"-o takes one store for the merged run, but got {', '.join([target, *more])}; name one of them."
        )
    raise typer.Exit(run_merge(shards, source, target, worst=worst, quiet=quiet))
