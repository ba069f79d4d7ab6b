"""`evalmark audit`: measure how well a judge agrees with labels or machine checks."""

from pathlib import Path
from typing import Annotated

import typer

from evalmark.cli.terminal.command_line import store_flag
from evalmark.cli.terminal.exit_codes import INCONCLUSIVE
from evalmark.cli.terminal.output import print_error, print_store_note, print_text, terminal_style
from evalmark.cli.terminal.progress import Progress
from evalmark.core.lazy import need
from evalmark.reports.terminal import forecast
from evalmark.reports.terminal.audit import audit_screen, canary_screen
from evalmark.reports.text.calibration import label_command
from evalmark.runs.calibration import audit as audits
from evalmark.runs.calibration.audit import AuditRequest, plan_canaries
from evalmark.runs.dry_run.estimate import estimate
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.overrides import Overrides
from evalmark.storage.store.store import open_store

from . import flags
from .calibrate import Suite, run_judges
from .rescore import Metrics
from .runs import RunReference

LABELS = "labels"
"""The default reference that verdicts are compared with."""

Against = Annotated[
    str, typer.Option("--against", metavar="labels|rules|METRIC", help="The reference that verdicts are compared with.")
]
Prompt = Annotated[
    Path | None,
    typer.Option("--prompt", metavar="FILE", help="The prompt whose rules are checked, for --against rules."),
]
Threshold = Annotated[
    float | None,
    typer.Option("--threshold", metavar="0..1", min=0, max=1, help="Pass threshold for metrics that have none."),
]
Level = Annotated[float, typer.Option("--level", metavar="0..1", help="Confidence level of the intervals.")]
AllLabels = Annotated[bool, typer.Option("--all-labels", help="Also use labels of outputs that evalmark did not draw.")]
Canaries = Annotated[
    bool, typer.Option("--canaries", help="Also judge prompt-injection attacks, and report which ones pass.")
]
Cases = Annotated[
    int, typer.Option("--cases", metavar="N", min=1, max=1000, help="Number of cases that get canaries, at most 1000.")
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(
        epilog=flags.exit_codes(
            {
                0: "the agreement and the corrected pass rate are known",
                2: "usage error, or an invalid file, setting, model or store",
                3: "too few labels for a corrected rate, or a budget stopped the canaries",
            }
        )
    )(audit)


def audit(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    run: RunReference = "last",
    metric: Metrics = None,
    judge: flags.Judge = None,
    against: Against = LABELS,
    prompt: Prompt = None,
    threshold: Threshold = None,
    level: Level = 0.95,
    all_labels: AllLabels = False,
    canaries: Canaries = False,
    cases: Cases = 3,
    suite: Suite = None,
    replay: flags.Replay = None,
    max_cost: flags.MaxCost = None,
    max_calls: flags.MaxCalls = None,
    allow_code: flags.AllowCode = None,
    store: flags.Store = None,
) -> None:
    """Measure how well the judges of a run agree with labels or machine checks, and correct their pass rate.

    With --canaries, the judges also score outputs that try to manipulate them.
    """
    settings = flags.settings(**flags.settings_given(context))
    with open_store(settings.store, read_only=not canaries, notes=print_store_note) as run_store:
        request = AuditRequest(
            run=run_store.run(run),
            metrics=tuple(metric or ()),
            against=against,
            prompt=prompt,
            threshold=threshold,
            level=level,
            all_labels=all_labels,
            suite=suite,
            overrides=Overrides(judges=tuple(judge or ())),
        )
        graded = audits.audit_graded(request, run_store)
        results = audits.audit(request, run_store, {one.metric.name for one in graded})
        print_text(audit_screen(request.run, results, terminal_style(), graded))
        if canaries:
            with Progress() as progress:
                plan, metrics = plan_canaries(request, settings, progress.loading, cases)
            options = RunOptions(store=run_store, settings=settings)
            print_text(forecast.forecast_screen(need("asyncio").run(estimate(plan, options)), terminal_style()))
            answered = run_judges(plan, settings, run_store, quiet=False)
            print_text(canary_screen(audits.canary_reports(answered, metrics, request), terminal_style()))
    is_complete = all(one.is_told for one in results) and all(one.is_told for one in graded)
    if not is_complete and against == LABELS:
        print_error(f"Draw outputs to label: {label_command(request.run.id)}{store_flag(settings.store)}\n")
    raise typer.Exit(0 if is_complete else INCONCLUSIVE)
