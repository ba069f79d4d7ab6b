"""Stores the totals and summaries of runs, so that a list of runs and the page of a run do not read their results."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from evalmark.core.values.run import Run, RunTotals
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.fields import to_json
from evalmark.storage.database.schema import transaction

_VERSION = 2
"""Grows whenever the same results would have other totals, so that old ones are calculated again."""
_SUMMARY_VERSION = 3
"""The same for summaries."""


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
    _save(db, "run_total", ((_VERSION, to_json(asdict(found)), run.id, run.finished) for run, found in totals))


def read_summary(db: Connection, run: Run) -> str | None:
    """Return the stored summary of a finished run; None if there is none, or if the run changed since."""
    found: Any = db.execute(
        "select s.content from run r join run_summary s on s.run = r.number and s.pass = r.pass "
        "where r.id = ? and r.status <> 'running' and s.version = ? and json_extract(r.header, '$.finished') = ?",
        (run.id, _SUMMARY_VERSION, run.finished),
    ).get
    return None if found is None else str(found)


def save_summary(db: Connection, run: Run, summary: str) -> None:
    """Store the summary of a finished run; nothing if the run was resumed since its header was read."""
    _save(db, "run_summary", [(_SUMMARY_VERSION, summary, run.id, run.finished)])


def _save(db: Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with transaction(db):
        db.executemany(
            f"insert into {table} (run, pass, version, content) select number, pass, ?, ? from run "  # noqa: S608  names of ours
            "where id = ? and status <> 'running' and json_extract(header, '$.finished') = ? "
            "on conflict (run) do update set pass = excluded.pass, version = excluded.version, content = excluded.content",
            rows,
        )
