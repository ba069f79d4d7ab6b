"""`evalmark run`: run suites."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from evalmark import api
from evalmark.errors import ConfigError

from . import flags
from .conduct import INTERRUPTED, Show, carry_out
from .progress import Progress
from .words import NEWEST, once_more

WORST_FIRST = (INTERRUPTED, 1, 3, 0)


def add(app: typer.Typer) -> None:
    """Put the verb on the command line."""
    app.command(short_help="Run suites, and give a verdict.")(run)


def run(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Suite files (YAML or JSON).")],
    target: Annotated[
        str | None, typer.Option(metavar="MODULE:ATTR", help="What to test; wins over the suite's target.")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, max=flags.MOST, help="How often each case is answered [1].")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(metavar="[RUN]", help="Go on with an unfinished run of the suite; without RUN, the newest."),
    ] = None,
    embeddings: Annotated[
        str | None, typer.Option(metavar="NAME", help="Embedding model: a name, a folder or module:attribute.")
    ] = None,
    output: flags.Reports = None,
    jobs: flags.Jobs = None,
    limit: flags.Limit = None,
    timeout: flags.Timeout = None,
    mode: flags.Mode = None,
    offline: flags.Offline = None,
    store: flags.Store = None,
    worst: flags.Worst = 5,
    quiet: flags.Quiet = False,
) -> None:
    """Run suites: every case through the target, every output past the scorers, and a verdict.

    Exit code 0: the gate holds. 1: it fails. 2: something is wrong with the call or the files, nothing
    was started. 3: it cannot be told (errors, unscored cases, or no cases at all). 130: interrupted.
    """
    if len(files) > 1 and output:
        raise ConfigError("-o writes one run; with several suites, run them one at a time or use `evalmark report`.")
    if len(files) > 1 and resume not in (None, NEWEST):
        raise ConfigError(f"--resume {resume} is one run; name only its suite, or leave the run's id out.")
    settings = flags.settings(jobs=jobs, timeout=timeout, embedding_mode=mode, offline=offline, store=store)
    overrides = api.Overrides(target=target, repeat=repeat, embeddings=embeddings, timeout=timeout)
    with Progress(quiet=quiet) as progress:
        plans = [api.plan_suite(path, settings, overrides, progress.loading) for path in files]
    show = Show(reports=output or (), quiet=quiet, worst=worst, limit=limit, resume=resume)
    codes: list[int] = []
    for path, plan in zip(files, plans, strict=True):
        again = once_more(context.obj, [str(other) for other in files if other != path])
        codes.append(carry_out(plan, settings, replace(show, again=again)))
        if codes[-1] == INTERRUPTED:
            break
    raise typer.Exit(min(codes, key=WORST_FIRST.index))
