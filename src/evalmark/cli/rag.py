"""`evalmark rag`: the RAG metrics over a dataset that brings its answers along."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark import api, cases, scorers
from evalmark.shell.conduct import Show, carry_out
from evalmark.shell.progress import Progress
from evalmark.shell.words import once_more

from . import flags

if TYPE_CHECKING:
    from evalmark.stats import Summary

Dataset = Annotated[
    Path, typer.Option(metavar="FILE", help="Rows with question, reference_answer, answer and contexts.")
]
Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Embedding model: a name, a folder or module:attribute [all-MiniLM-L6-v2]."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="FIELD=NAME", help="The column that holds a field: answer=reply. Repeatable."),
]
Sufficiency = Annotated[
    float, typer.Option(min=-1, max=1, help="A context at least this similar to the question is sufficient.")
]
Hallucination = Annotated[
    float, typer.Option(min=-1, max=1, help="A sentence less similar than this to every context is unsupported.")
]
Splitter = Annotated[str, typer.Option(metavar="sentencex|simple", help="How answers are cut into sentences.")]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", metavar="NAME|MODULE:ATTR", help="A further metric. Repeatable.")
]
FailOnFlags = Annotated[
    bool, typer.Option("--fail-on-flags", help="Exit 1 when a mean is beyond its interpretation limit.")
]
Resume = Annotated[str | None, typer.Option(metavar="[RUN]", help="Go on with an unfinished run over this dataset.")]


def add(app: typer.Typer) -> None:
    """Put the verb on the command line."""
    app.command(short_help="Score the answers of a RAG dataset.")(rag)


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
    resume: Resume = None,
    output: flags.Reports = None,
    limit: flags.Limit = None,
    mode: flags.Mode = None,
    offline: flags.Offline = None,
    store: flags.Store = None,
    worst: flags.Worst = 5,
    quiet: flags.Quiet = False,
) -> None:
    """Score the answers of a RAG dataset: context relevance and sufficiency, answer relevance, correctness, hallucination.

    Everything happens on this machine; the embedding model is fetched once and checked by its SHA-256.
    """
    settings = flags.settings(embedding_mode=mode, offline=offline, store=store)
    job = api.RagJob(
        dataset=dataset,
        options=cases.named_columns(column or ()),
        model=model or settings.embeddings,
        sufficiency=sufficiency,
        hallucination=hallucination,
        splitter=splitter,
        metrics=tuple(metric or ()),
        fail_on_flags=fail_on_flags,
    )
    show = Show(
        reports=output or (),
        quiet=quiet,
        worst=worst,
        again=once_more(context.obj),
        limit=limit,
        resume=resume,
        remarks=_remarks,
    )
    with Progress(quiet=quiet) as progress:
        plan = api.plan_rag(job, settings, progress.loading)
    raise typer.Exit(carry_out(plan, settings, show))


def _remarks(summary: "Summary") -> Sequence[str]:
    """What a mean beyond its interpretation limit usually means."""
    return [
        f"{metric.name} {metric.mean:z.3f} is {'above' if metric.direction == 'lower' else 'below'} {flag.limit:g}: {flag.line}."
        for group in summary.groups
        for metric in group.metrics
        if (flag := scorers.FLAGS.get(metric.name)) is not None and flag.is_beyond(metric.mean)
    ]
