"""Requests to stop a run, left in the store for the process that writes it."""

from typing import Any

from evalmark.storage.database.connection import Connection
from evalmark.storage.database.schema import transaction


def accept_stops(db: Connection, run_id: str) -> None:
    """Note that the process of a run looks for requests to stop it; an earlier request is dropped."""
    with transaction(db):
        db.execute(
            "insert into run_stop (run, pass, by) select number, pass, null from run where id = ? "
            "on conflict (run) do update set pass = excluded.pass, by = null",
            (run_id,),
        )


def request_stop(db: Connection, run_id: str, by: str) -> bool:
    """Request that a run stops; return whether its process looks for requests. The first request counts."""
    with transaction(db):
        if stop_request(db, run_id) is None:
            return False
        db.execute(
            "update run_stop set by = ? where by is null and run = (select number from run where id = ?)", (by, run_id)
        )
        return True


def stop_request(db: Connection, run_id: str) -> str | None:
    """Return who requested that a run stops; empty if nobody did, None if its process does not look for requests."""
    found: Any = db.execute(
        "select coalesce(s.by, '') from run r join run_stop s on s.run = r.number and s.pass = r.pass "
        "where r.id = ? and r.status = 'running'",
        (run_id,),
    ).get
    return None if found is None else str(found)
