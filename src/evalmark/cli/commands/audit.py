"""`evalmark audit`: how far a judge can be trusted."""

from pathlib import Path
from typing import Annotated

import typer

from evalmark.cli.terminal.output import output_look, print_error, print_text
from evalmark.cli.terminal.progress import Progress
from evalmark.cli.terminal.run_command import STOPPED
from evalmark.core.lazy import need
from evalmark.reports.terminal import forecast
from evalmark.reports.terminal.audit import audit_screen, canary_screen
from evalmark.runs.calibration import audit as audits
from evalmark.runs.calibration.audit import AuditRequest, plan_canaries
from evalmark.runs.dry_run.estimate import estimate
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.overrides import Overrides
from evalmark.storage.store.store import open_store

from . import flags
from .calibrate import Level, Suite, run_judges
from .rescore import Metrics
from .runs import Run

LABELS = "labels"
"""What verdicts are held against where nothing else is named."""

Against = Annotated[
    str, typer.Option("--against", metavar="labels|rules|METRIC", help="What its verdicts are held against.")
]
Prompt = Annotated[
    Path | None,
    typer.Option("--prompt", metavar="FILE", help="The prompt whose rules are checked, for --against rules."),
]
Threshold = Annotated[
    float | None, typer.Option("--threshold", min=0, max=1, help="For metrics that neither pass nor fail.")
]
Canaries = Annotated[bool, typer.Option("--canaries", help="Have the judge judge attacks, and say what it lets pass.")]
Cases = Annotated[int, typer.Option("--cases", metavar="N", min=1, max=1000, help="Cases that canaries stand in.")]


def add(app: typer.Typer) -> None:
    """Put the verb on the command line."""
    app.command()(audit)


def audit(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    run: Run = "last",
    metric: Metrics = None,
    judge: flags.Judge = None,
    against: Against = LABELS,
    prompt: Prompt = None,
    threshold: Threshold = None,
    level: Level = 0.95,
    canaries: Canaries = False,
    cases: Cases = 3,
    suite: Suite = None,
    replay: flags.Replay = None,
    max_cost: flags.MaxCost = None,
    max_calls: flags.MaxCalls = None,
    allow_code: flags.AllowCode = None,
    store: flags.Store = None,
) -> None:
    """Say how far the judges of a run agree with people, or with what a machine can check, and correct their pass rate.

    Exit code 0: it can be told. 3: there are too few labels for a corrected rate, or a budget ended the canaries.
    """
    settings = flags.settings(**flags.settings_given(context))
    with open_store(settings.store, read_only=not canaries) as ledger:
        wanted = AuditRequest(
            run=ledger.run(run),
            metrics=tuple(metric or ()),
            against=against,
            prompt=prompt,
            threshold=threshold,
            level=level,
            suite=suite,
            overrides=Overrides(judges=tuple(judge or ())),
        )
        found = audits.audit(wanted, ledger)
        print_text(audit_screen(wanted.run, found, output_look()))
        if canaries:
            with Progress() as progress:
                plan, metrics = plan_canaries(wanted, settings, progress.loading, cases)
            conduct = RunOptions(store=ledger, settings=settings)
            print_text(forecast.forecast_screen(need("asyncio").run(estimate(plan, conduct)), output_look()))
            answered = run_judges(plan, settings, ledger, quiet=False)
            print_text(canary_screen(audits.canaries(answered, metrics, wanted), output_look()))
    told = all(one.is_told for one in found)
    if not told and against == LABELS:
        print_error(f"Label outputs: evalmark note {wanted.run.id} --case ID --label up, or many with --file\n")
    raise typer.Exit(0 if told else STOPPED)
