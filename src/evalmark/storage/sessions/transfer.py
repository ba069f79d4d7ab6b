"""Copies labels on the outputs of a run, and samples of these outputs, to another store, where the run has another id."""

from dataclasses import replace

from evalmark.core.values.label import about_output
from evalmark.storage.database.connection import Connection, SelectRows
from evalmark.storage.database.fields import sql_text

from .rows import ChecksummedJson, decode_label, decode_label_sample, encode_label, encode_label_sample

_OF = ("output", "score")
"""The kinds of subjects of labels on a run."""


def copy_labels(select: SelectRows, db: Connection, run: str, to: str) -> int:
    """Copy all labels on outputs and scores of a run within a transaction; they then refer to the run `to`.

    Labels that were copied before are skipped. Returns how many were copied.

    Raises:
        ValueError: a label is damaged.
    """
    carried = 0
    for kind in _OF:
        begin = f"{kind}:{about_output(run).partition(':')[2]}"
        ends = sql_text(begin), sql_text(f"{begin[:-1]}0")  # `0` sorts right after the slash
        for row in select("select content, checksum from label where about >= ? and about < ? order by number", ends):
            label = decode_label(ChecksummedJson(*row))
            moved = replace(label, about=f"{kind}:{to}/{label.about[len(begin) :]}")
            sealed, about = encode_label(moved), sql_text(moved.about)
            if (
                db.execute("select 1 from label where about = ? and content = ? limit 1", (about, sealed.content)).get
                is None
            ):
                db.execute(
                    "insert into label (about, fingerprint, content, checksum) values (?, ?, ?, ?)",
                    (about, moved.content, *sealed),
                )
                carried += 1
    return carried


def copy_label_samples(select: SelectRows, db: Connection, run: str, to: str) -> None:
    """Copy the samples of outputs that were drawn to be labelled within a transaction; they then are of the run `to`.

    Samples that were copied before are skipped.

    Raises:
        ValueError: a sample is damaged.
    """
    for row in select("select content, checksum from label_sample where run = ? order by number", (run,)):
        moved = encode_label_sample(replace(decode_label_sample(ChecksummedJson(*row)), run=to))
        known = db.execute("select 1 from label_sample where run = ? and content = ? limit 1", (to, moved.content)).get
        if known is None:
            db.execute("insert into label_sample (run, content, checksum) values (?, ?, ?)", (to, *moved))
