"""Stores the totals of runs, so that a list of runs does not read their results."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from evalmark.core.values.run import Run, RunTotals
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.fields import to_json
from evalmark.storage.database.schema import transaction

_VERSION = 2
"""Grows whenever the same results would have other totals, so that old ones are calculated again."""


def read_totals(db: Connection, runs: Iterable[str]) -> dict[str, RunTotals]:
    """Return the stored totals of finished runs by id; those of runs that changed since are left out."""
    rows: Any = db.execute(
        "select r.id, s.content from run r join run_total s on s.run = r.number and s.pass = r.pass "
        "where r.status <> 'running' and s.version = ? and r.id in (select value from json_each(?))",
        (_VERSION, to_json(list(runs))),
    )
    return {run: RunTotals(**json.loads(content)) for run, content in rows}


def save_totals(db: Connection, totals: Iterable[tuple[Run, RunTotals]]) -> None:
    """Store totals of finished runs; a run that was resumed since its header was read is left out."""
    with transaction(db):
        db.executemany(
            "insert into run_total (run, pass, version, content) select number, pass, ?, ? from run "
            "where id = ? and status <> 'running' and json_extract(header, '$.finished') = ? "
            "on conflict (run) do update set pass = excluded.pass, version = excluded.version, content = excluded.content",
            ((_VERSION, to_json(_fields(found)), run.id, run.finished) for run, found in totals),
        )


def _fields(totals: RunTotals) -> Mapping[str, Any]:
    return asdict(totals)
