"""What people say of the outputs of a run, carried from one store to another, where the run has another id."""

from dataclasses import replace

from evalmark.core.values.label import about_output
from evalmark.storage.database.connection import Connection, SelectRows
from evalmark.storage.database.fields import sql_text

from .rows import ChecksummedJson, decode_label, encode_label

_OF = ("output", "score")
"""How what a label of a run is about can begin."""


def copy_labels(look: SelectRows, db: Connection, run: str, to: str) -> int:
    """Carry every label on outputs and scores of a run, as part of a transaction; they are about the run `to` then.

    Those that were carried before are not carried again; gives how many were.

    Raises:
        ValueError: a label is damaged.
    """
    carried = 0
    for kind in _OF:
        begin = f"{kind}:{about_output(run).partition(':')[2]}"
        ends = sql_text(begin), sql_text(f"{begin[:-1]}0")  # `0` comes right after the slash
        for row in look("select content, checksum from label where about >= ? and about < ? order by number", ends):
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
