"""Values of scores beside the results that have them, in the order in which results are sorted by a score."""

from collections.abc import Iterable
from typing import Any

from evalmark.core.values.score import Result
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.fields import sql_real, sql_text
from evalmark.storage.results.rows import ResultRow

IDENTITY = ("dataset", "case_id", "target", "repeat", "mode", "fingerprint")
"""Columns that no two results of a run share."""
_KEEP = f"""
    insert into scored (run, metric, value, result)
    select r.run, ?, cast(? as double precision), r.number from result r
    where r.run = ? and {" and ".join(f"r.{name} = ?" for name in IDENTITY)}
    on conflict do nothing
"""  # noqa: S608  columns, not data


def identity(row: ResultRow) -> tuple[Any, ...]:
    """What tells a result from the others of its run."""
    return row.dataset, row.case_id, row.target, row.repeat, row.mode, row.fingerprint


def keep_values(db: Connection, run: int, kept: Iterable[tuple[ResultRow, Result]]) -> None:
    """Have results that are in the store found by their scores.

    What a result had before it was written anew stays: whoever reads compares it with the result.
    """
    given: list[tuple[Any, ...]] = []
    for row, result in kept:
        of = (run, *identity(row))
        values = ((sql_text(score.name), sql_real(score.value)) for score in result.scores)
        given += [(*one, *of) for one in values if one[1] is not None]
    db.executemany(_KEEP, given)
