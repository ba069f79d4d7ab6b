"""`evalmark label`: draw outputs of a run to label, and record which were drawn."""

from pathlib import Path
from typing import Annotated

import typer

from evalmark.cli.terminal.command_line import store_flag
from evalmark.cli.terminal.output import print_line, print_store_note
from evalmark.core.text import count
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.reports.files.label_sheet import check_label_sheet, label_sheet
from evalmark.runs.execution.threshold_notes import evidence_of_run
from evalmark.storage.store.store import open_store
from evalmark.tracing.annotations.samples import draw_sample

from . import flags
from .runs import RunReference

Sample = Annotated[int, typer.Option("--sample", metavar="N", min=1, help="Number of outputs to draw.")]
ByVerdict = Annotated[
    str,
    typer.Option(
        "--by-verdict", metavar="METRIC", help="Draw equal numbers of outputs that this metric passed and failed."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Also write the outputs to a .csv or .jsonl file to label in."),
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command()(label)


def label(
    run: RunReference = "last",
    sample: Sample = 80,
    by_verdict: ByVerdict = "",
    output: Output = None,
    store: flags.Store = None,
) -> None:
    """Draw outputs of a run at random to be labelled, and record which were drawn.

    An audit can then treat them as a random sample. A larger sample contains the outputs of a smaller one.
    """
    if output is not None:
        check_label_sheet(output)
    place = flags.settings(store=store).store
    with open_store(place, notes=print_store_note) as run_store:
        found = run_store.run(run)
        drawn = draw_sample(found, sample, by_verdict)
        number = run_store.sessions.add_label_sample(drawn)
        evidence = evidence_of_run(run_store, found)
        if output is not None:
            write_atomically(output, label_sheet(output, found, drawn), "file to label in")
    how = f"by verdict of {by_verdict}" if by_verdict else "at random"
    print_line(
        f"Sample {number} of run {found.id}: {len(drawn.trials):,} of {count(drawn.outputs, 'output')}, drawn {how}."
    )
    if known := {one.key for one in evidence.labelled} & set(drawn.trials):
        print_line(f"  Labelled already: {len(known):,}.")
    more = store_flag(place)
    print_line(f"  Label them in the browser: evalmark view {found.id} --sample {number}{more}")
    if output is not None:
        print_line(f"  Or fill in the column label of {output}, up or down: evalmark note --file {output}{more}")
