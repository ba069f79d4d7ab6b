"""`evalmark note`: label an output."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.output import print_line, print_store_note
from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.core.values.label import parse_thumb
from evalmark.storage.store.store import open_store
from evalmark.tracing.annotations import labels
from evalmark.tracing.annotations.label_file import read_labels
from evalmark.tracing.annotations.labels import LabelSubject, NewLabel, OutputSelector, current_user

from . import flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalmark.core.values.label import Label

Id = Annotated[
    str | None,
    typer.Argument(metavar="ID", help="A recorded output, a session with one output, or a run with --case."),
]
Thumb = Annotated[str | None, typer.Option("--label", metavar="up|down", help="Thumb up or down.")]
Score = Annotated[float | None, typer.Option("--score", metavar="0..1", help="Quality from 0 to 1.")]
Comment = Annotated[str, typer.Option("--comment", metavar="TEXT", help="The reason.")]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Name of the annotator [default: your git name, or your login]."),
]
Case = Annotated[str | None, typer.Option("--case", metavar="ID", help="With a run: the output for this case.")]
Target = Annotated[str | None, typer.Option("--target", metavar="NAME", help="With a run: the output of this target.")]
Repeat = Annotated[
    int | None, typer.Option("--repeat", metavar="N", min=1, help="With a run: the N-th output, from 1.")
]
Dataset = Annotated[str | None, typer.Option("--dataset", metavar="NAME", help="With a run: a case of this dataset.")]
Metric = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", help="With a run: label this score, not the output.")
]
Withdraw = Annotated[bool, typer.Option("--withdraw", help="Withdraw your label; the history keeps it.")]
File = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="Import labels from CSV, TSV or JSONL with the columns id, label, score, comment, by, and case for runs.",
    ),
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command()(note)


def note(  # noqa: PLR0913  each is a flag of the command line
    id: Id = None,  # noqa: A002  as the argument, and so its help
    label: Thumb = None,
    score: Score = None,
    comment: Comment = "",
    by: By = None,
    case: Case = None,
    target: Target = None,
    repeat: Repeat = None,
    dataset: Dataset = None,
    metric: Metric = None,
    withdraw: Withdraw = False,
    file: File = None,
    store: flags.Store = None,
) -> None:
    """Label a recorded output or an output of a run, or import many labels with --file.

    Earlier labels stay in the history; the latest label of each annotator counts. A file can be imported again: rows
    with a known label_id or with the same content are not stored twice.
    """
    which = OutputSelector(case=case, target=target, repeat=repeat, dataset=dataset, metric=metric)
    name = by or current_user(os.environ)
    new_label = NewLabel(by=name, liked=_thumb(label), score=score, comment=comment.strip())
    _check_flags(id, file, new_label, which, withdraw=withdraw)
    with open_store(flags.settings(store=store).store, notes=print_store_note) as run_store:
        if file is not None:
            file_labels = read_labels(file, run_store, name)
            kept_labels = labels.save_labels(run_store, file_labels)
            people = sorted({one.by for _, one in file_labels})
            duplicates = len(file_labels) - len(kept_labels)
            remark = f"; {duplicates:,} stored before" if duplicates else ""
            print_line(
                f"{file}: {count(len(kept_labels), 'label')} stored, by {', '.join(people) or 'no one'}{remark}."
            )
            new = {one.id for one in kept_labels}
            _report_masked([one for one in file_labels if one[1].id in new], kept_labels)
            return
        subject = labels.find_subject(run_store, id or "", which)
        (written,) = labels.save_labels(run_store, [(subject, new_label)])
        print_line(f"{_stored_text(written)} {subject.title}, by {written.by}.")
        _report_masked([(subject, new_label)], [written])
        before = [one for one in run_store.sessions.labels([subject.about]) if one.by == written.by]
        if len(before) > 1:
            print_line(f"  {written.by} has {count(len(before), 'label')} on it; show them with: evalmark show {id}")


def _report_masked(given: "Sequence[tuple[LabelSubject, NewLabel]]", written: "Sequence[Label]") -> None:
    """Report how many comments were stored without a part of them."""
    altered = sum(new_label.comment != label.comment for (_, new_label), label in zip(given, written, strict=True))
    if altered:
        print_line(f"  Removed what looked like a key or a password from {count(altered, 'comment')}.")


def _check_flags(
    item: str | None, file: Path | None, new_label: "NewLabel", which: "OutputSelector", *, withdraw: bool
) -> None:
    """Raise ConfigError if the flags give no label, or contradict each other."""
    if file is not None:
        if item or withdraw or not new_label.withdraws or which != OutputSelector():
            raise ConfigError("--file can only be combined with --by.")
        return
    if not item:
        raise ConfigError("name the output to label by its ID, or a file of labels with --file.")
    if withdraw and not new_label.withdraws:
        raise ConfigError("--withdraw removes your label; leave out --label, --score and --comment.")
    if new_label.withdraws and not withdraw:
        raise ConfigError(
            "give a label with --label up, --label down, --score or --comment, or remove it with --withdraw."
        )


def _thumb(label: str | None) -> bool | None:
    try:
        return None if label is None else parse_thumb(label)
    except ValueError as fault:
        raise ConfigError(f"--label: {fault}.") from None


def _stored_text(label: "Label") -> str:
    if label.withdrawn:
        return "Withdrawn:"
    parts = [] if label.liked is None else ["up" if label.liked else "down"]
    parts += [] if label.score is None else [f"score {label.score:g}"]
    parts += ["a comment"] if label.comment else []
    return f"Stored: {', '.join(parts)} for"
