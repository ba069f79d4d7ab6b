"""`evalmark calibrate`: learn metric thresholds from labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.command_line import refuse_overwriting
from evalmark.cli.terminal.exit_codes import INCONCLUSIVE
from evalmark.cli.terminal.output import print_error, print_line, print_store_note, print_text, terminal_style
from evalmark.cli.terminal.progress import Progress
from evalmark.core.lazy import need
from evalmark.core.money import spent_lines
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.reports.files.calibration_html import calibration_as_html
from evalmark.reports.terminal.calibration import calibration_screen
from evalmark.runs.calibration.calibrate import (
    CalibrateRequest,
    check_lock,
    learn_calibration,
    prepare_calibration,
    write_lock,
)
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.plan import Plan
from evalmark.runs.session.run_store import ScratchRunStore
from evalmark.stats.calibration.threshold_calibration import FalsePassLimit
from evalmark.storage.store.store import Store, open_store

from . import flags
from .rescore import Metrics

if TYPE_CHECKING:
    from evalmark.core.settings import Settings
    from evalmark.core.values.run import Run

Subject = Annotated[
    str,
    typer.Argument(
        metavar="PROJECT|RUN|FILE", help="A recorded project, a run, or a file of rows with an answer and a label."
    ),
]
Suite = Annotated[
    Path | None, typer.Option("--suite", metavar="FILE", help="The suite whose metrics and settings are used.")
]
MaxFalsePass = Annotated[
    float, typer.Option("--max-false-pass", metavar="0..1", help="The largest allowed share of bad cases that pass.")
]
Level = Annotated[
    float, typer.Option("--level", metavar="0..1", help="Confidence level of the --max-false-pass bound.")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="FIELD",
        help="Field by which cases depend on each other, such as document; of a run or a file.",
    ),
]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The lock file to write or update.")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with charts of the scores.")
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(
        epilog=flags.exit_codes(
            {
                0: "every threshold meets the bound and is written",
                2: "usage error, or an invalid file, setting, model or store",
                3: "too few labels to tell; nothing is written",
                130: "interrupted",
            }
        )
    )(calibrate)


def calibrate(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    about: Subject,
    metric: Metrics = None,
    suite: Suite = None,
    max_false_pass: MaxFalsePass = 0.05,
    level: Level = 0.95,
    cluster: Cluster = None,
    output: Output = Path("evalmark.lock.json"),
    html: Html = None,
    judge: flags.Judge = None,
    embeddings: flags.Embeddings = None,
    jobs: flags.Jobs = None,
    timeout: flags.Timeout = None,
    replay: flags.Replay = None,
    max_cost: flags.MaxCost = None,
    max_calls: flags.MaxCalls = None,
    max_tokens: flags.MaxTokens = None,
    offline: flags.Offline = None,
    allow_code: flags.AllowCode = None,
    store: flags.Store = None,
    quiet: flags.Quiet = False,
) -> None:
    """Learn the lowest threshold of each metric that keeps the share of bad outputs that pass below --max-false-pass.

    The thresholds go to a lock file; a run uses them with --lock.
    """
    settings = flags.settings(**flags.settings_given(context))
    request = CalibrateRequest(
        about=about,
        metrics=tuple(metric or ()),
        suite=suite,
        limit=FalsePassLimit(max_false_pass=max_false_pass, level=level),
        overrides=Overrides(embeddings=embeddings, timeout=timeout, judges=tuple(judge or ())),
        cluster=cluster or "",
    )
    check_lock(output)
    refuse_overwriting([about, suite, output], [html] if html else [])
    with open_store(settings.store, notes=print_store_note) as run_store:
        with Progress(quiet=quiet) as progress:
            prepared = prepare_calibration(request, settings, run_store, progress.loading)
        run = None
        if prepared.plan is not None and prepared.evidence.labelled:
            run = run_judges(prepared.plan, settings, run_store, quiet=quiet)
        calibration = learn_calibration(prepared, run)
    if not quiet:
        print_text(calibration_screen(calibration, terminal_style()))
    if html is not None:
        write_atomically(html, calibration_as_html(calibration), "page")
    if not calibration.is_kept:
        print_error(f"Nothing is written to {output}: not every metric meets the bound.\n")
        raise typer.Exit(INCONCLUSIVE)
    write_lock(calibration, output)
    if not quiet:
        print_line(f"  Written to {output}; a run uses it with: evalmark run SUITE --lock {output}")


def run_judges(plan: "Plan", settings: "Settings", run_store: "Store", *, quiet: bool) -> "Run":
    """Score existing outputs; exit the program if a budget or an endpoint stops the run.

    Replies are stored, so the same command resumes where it stopped.
    """
    with Progress(quiet=quiet) as progress:
        options = RunOptions(
            store=ScratchRunStore(run_store),
            settings=settings,
            on_start=lambda run, checked: progress.begin(plan.name, sum(checked.rows.values())),
            on_verdicts=progress.recorded,
        )
        run: Run = need("asyncio").run(execute(plan, options))
    print_error("".join(f"{name}: {spending}\n" for name, spending in spent_lines(run)) if not quiet else "")
    if run.status != "complete":
        print_error(
            f"{' '.join(run.notes)}\nNothing was learned. Finished judgements are stored; the same command resumes.\n"
        )
        raise typer.Exit(INCONCLUSIVE)
    return run
