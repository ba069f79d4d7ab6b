"""Reads which results a run has, by case, target and verdict, without their texts."""

from typing import Any, NamedTuple

from evalmark.core.values.score import Mode, Verdict
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.field_specs import read_mode
from evalmark.storage.database.fields import from_sql


class ResultOutline(NamedTuple):
    """Where a result belongs, and its verdict."""

    number: int
    dataset: str
    case: str
    """The id of the case."""
    target: str
    mode: Mode
    verdict: Verdict


def read_outlines(db: Connection, run: int) -> list[ResultOutline]:
    """Read the outlines of all results of a run, ordered by dataset, position and repeat."""
    sql = """
        select number, dataset, case_id, target, mode, verdict from result
        where run = ? and pass > 0 order by source, dataset, position, repeat, target, mode
    """
    names: dict[Any, Any] = {}  # the same text again and again: one object of each

    def name(value: Any) -> Any:
        return names.get(value) or names.setdefault(value, from_sql(value))

    return [
        ResultOutline(number, name(dataset), name(case), name(target), read_mode(name(mode)), name(verdict))
        for number, dataset, case, target, mode, verdict in db.execute(sql, (run,))
    ]


def read_output_hashes(db: Connection, run: int) -> dict[int, int]:
    """Read a hash of what each result of a run put out, by row number; equal outputs have the same one."""
    sql = "select number, json_extract(output, '$.value'), json_extract(output, '$.error') from result where run = ? and pass > 0"
    return {number: hash((value, error)) for number, value, error in db.execute(sql, (run,))}
