"""`evalmark rag`: score a RAG dataset that holds its answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.command_line import repeat_command
from evalmark.cli.terminal.progress import Progress
from evalmark.cli.terminal.run_command import RunDisplay, run_plan
from evalmark.cli.terminal.supervised import send_paths
from evalmark.inputs.datasets.fields import parse_columns
from evalmark.reports.text.similarity import similarity_notes
from evalmark.runs.execution.rag import RagJob, plan_rag
from evalmark.runs.execution.threshold_notes import labels_for_run
from evalmark.stats.calibration.evidence import evidence_from_results

from . import flags

if TYPE_CHECKING:
    from evalmark.core.values.run import Run
    from evalmark.stats.summary.summary import Summary
    from evalmark.storage.store.store import Store

Dataset = Annotated[
    Path, typer.Option(metavar="FILE", help="Rows with question, reference_answer, answer and contexts.")
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Embedding model: a name, a folder or module:attribute [default: all-MiniLM-L6-v2]."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="FIELD=NAME", help="Name of the column of a field, such as answer=reply. Repeatable."
    ),
]
Sufficiency = Annotated[
    float,
    typer.Option(
        metavar="-1..1",
        min=-1,
        max=1,
        help="A context is sufficient if its similarity to the question is at least this.",
    ),
]
Hallucination = Annotated[
    float,
    typer.Option(
        metavar="-1..1",
        min=-1,
        max=1,
        help="A sentence is unsupported if its similarity to every context is below this.",
    ),
]
Splitter = Annotated[str, typer.Option(metavar="sentencex|simple", help="How to split answers into sentences.")]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", metavar="NAME|MODULE:ATTR", help="An additional metric. Repeatable.")
]
FailOnFlags = Annotated[bool, typer.Option("--fail-on-flags", help="Exit with 1 if a mean is outside its usual limit.")]
Resume = Annotated[str | None, typer.Option(metavar="[RUN]", help="Resume an unfinished run over this dataset.")]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(epilog=flags.exit_codes(flags.RUN_EXIT_CODES))(rag)


def rag(  # noqa: PLR0913  each is a flag of the command line
    context: typer.Context,
    dataset: Dataset,
    column: Columns = None,
    model: Model = None,
    sufficiency: Sufficiency = 0.5,
    hallucination: Hallucination = 0.4,
    splitter: Splitter = "sentencex",
    metric: Metrics = None,
    fail_on_flags: FailOnFlags = False,
    max_unscored: flags.MaxUnscored = None,
    max_errors: flags.MaxErrors = None,
    resume: Resume = None,
    output: flags.Reports = None,
    limit: flags.Limit = None,
    mode: flags.Mode = None,
    device: flags.Device = None,
    offline: flags.Offline = None,
    store: flags.Store = None,
    worst: flags.Worst = 5,
    quiet: flags.Quiet = False,
) -> None:
    """Measure the similarity of answers, references, questions and contexts of a RAG dataset, without a judge model.

    Everything runs on this machine; the embedding model is downloaded once and checked by its SHA-256.
    """
    send_paths((), output or ())
    settings = flags.settings(embedding_mode=mode, device=device, offline=offline, store=store)
    job = RagJob(
        dataset=dataset,
        options=parse_columns(column or ()),
        model=model or settings.embeddings,
        sufficiency=sufficiency,
        hallucination=hallucination,
        splitter=splitter,
        metrics=tuple(metric or ()),
        fail_on_flags=fail_on_flags,
        max_unscored=max_unscored or 0,
        max_errors=max_errors or 0,
    )
    show = RunDisplay(
        reports=output or (),
        quiet=quiet,
        worst=worst,
        again=repeat_command(context.obj),
        limit=limit,
        resume=resume,
        remarks=_remarks,
    )
    with Progress(quiet=quiet) as progress:
        plan = plan_rag(job, settings, progress.loading)
    raise typer.Exit(run_plan(plan, settings, show))


def _remarks(run: "Run", summary: "Summary", run_store: "Store") -> Sequence[str]:
    """Explain the metrics, with the labels of these outputs if there are enough."""
    evidence = evidence_from_results(run.id, run.results, labels_for_run(run_store, run))
    return similarity_notes(summary, run.results, {one.key: one.liked for one in evidence.labelled})
