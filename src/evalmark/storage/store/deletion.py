"""Deletes runs and recorded sessions with all that only they use, so that nothing of them can be recovered.

One transaction deletes everything, so a process that is killed leaves all of it or nothing. SQLite overwrites deleted
content with zeros; the vacuum afterwards removes older copies of it and empties the write-ahead log. A file next to the
store notes the deletion until then: if the process is killed, the next one that may write the store does the vacuum.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from evalmark.core.errors import StoreBusyError
from evalmark.core.values.label import about_output, about_score, about_span
from evalmark.storage.call_log import requests_in_flight
from evalmark.storage.call_log.reply_file import HEADER_SIZE, file_path, parse_records
from evalmark.storage.database.connection import Connection, FileConnection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.fields import from_sql, sql_text, to_json
from evalmark.storage.database.holder import WriterProcess, from_text
from evalmark.storage.database.open import open_writable
from evalmark.storage.database.schema import transaction

from .run_transactions import delete_rows, refuse_held

_KEY = re.compile(r"[0-9a-f]{32}-[0-9]+-[0-9]+|tool-[0-9a-f]{32}")
"""The key of a recorded call, in the JSON of a result."""
_TABLES = (
    "run",
    "result",
    "scored",
    "run_total",
    "run_summary",
    "run_stop",
    "call",
    "tool_call",
    "spent",
    "sent",
    "session",
    "span",
    "label",
    "label_sample",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Runs and recorded sessions to delete."""

    runs: tuple[str, ...] = ()
    """Ids of runs."""
    sessions: tuple[str, ...] = ()
    """Ids of recorded sessions."""
    with_shared_replies: bool = False
    """Whether to delete recorded replies that other runs use as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionPlan:
    """How much a deletion deletes."""

    results: int
    spans: int
    labels: int
    replies: int
    """Recorded replies, of models and tools, that are deleted with the runs."""
    shared_replies: int
    """Recorded replies of the runs that other runs use as well."""
    backups: tuple[Path, ...]
    """Copies of the store, made by upgrades, that hold one of the runs or sessions."""


def plan_deletion(db: Connection, path: StoreLocation, deletion: Deletion) -> DeletionPlan:
    """Count what a deletion deletes; nothing is changed."""
    numbers = _numbers(db, deletion.runs)
    keys, shared = _replies(db, numbers)
    ids = to_json(list(deletion.sessions))
    return DeletionPlan(
        results=sum(_count(db, f"result where run = {number}") for number in numbers),
        spans=_count(db, "span where session in (select value from json_each(?))", ids),
        labels=sum(labels_of_run(db, run) for run in deletion.runs) + labels_of_sessions(db, deletion.sessions),
        replies=len(keys | shared if deletion.with_shared_replies else keys),
        shared_replies=len(shared),
        backups=tuple(_backups(path, deletion)),
    )


def delete(db: Connection, path: StoreLocation, deletion: Deletion, here: WriterProcess) -> None:
    """Delete the runs and sessions in one transaction, with their labels and the replies that go with them.

    Raises:
        StoreBusyError: another process writes one of the runs, or has replies of one in its file.
    """
    if isinstance(db, FileConnection):
        db.pragma("secure_delete", True)
    with transaction(db):
        rows: list[Any] = [
            db.execute("select number, holder, pass, id from run where id = ?", (run,)).fetchone()
            for run in deletion.runs
        ]
        known = [row for row in rows if row is not None]  # another process may have deleted the others
        for number, holder, passed, run in known:
            refuse_held(db, (run, number, passed), from_text(holder), here)
        numbers = [int(row[0]) for row in known]
        keys, shared = _replies(db, numbers)
        keys |= shared if deletion.with_shared_replies else set()
        _refuse_open_files(db, path, deletion.runs, keys)
        for number, _, _, run in known:
            for start in (about_output(run), about_score(run, "", "")[:-1]):
                db.execute("delete from label where about >= ? and about < ?", (start, start[:-1] + "0"))
            db.execute("delete from label_sample where run = ?", (run,))
            delete_rows(db, int(number))
        for table in ("call", "tool_call"):
            db.execute(f"delete from {table} where key in (select value from json_each(?))", (to_json(sorted(keys)),))  # noqa: S608  constant names
        _delete_sessions(db, deletion.sessions)
    requests_in_flight.remove_stale_notes(db, path)


def pending_path(path: Path) -> Path:
    """Return the file that exists from before a deletion until nothing of it is left in the files of a store."""
    return path.with_name(f"{path.name}-erase")


def note_deletion(path: StoreLocation, deletion: Deletion) -> None:
    """Note on disk what is about to be deleted, so that another process can erase it if this one is killed."""
    if not isinstance(path, Path):
        return
    runs, sessions = _pending(path)
    _write_note(path, [*{*runs, *deletion.runs}], [*{*sessions, *deletion.sessions}])


def withdraw_note(path: StoreLocation, deletion: Deletion) -> None:
    """Remove the note of a deletion that did not happen."""
    if not isinstance(path, Path):
        return
    runs, sessions = _pending(path)
    left = [id_ for id_ in runs if id_ not in deletion.runs], [id_ for id_ in sessions if id_ not in deletion.sessions]
    if any(left):
        _write_note(path, *left)
    else:
        pending_path(path).unlink(missing_ok=True)


def _write_note(path: Path, runs: Sequence[str], sessions: Sequence[str]) -> None:
    with store_errors(path, what="the note of the deletion"):
        handle = os.open(pending_path(path), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump([runs, sessions], file)
            file.flush()
            os.fsync(file.fileno())


def _pending(path: Path) -> tuple[list[str], list[str]]:
    try:
        runs, sessions = json.loads(pending_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return [], []
    return runs, sessions


def erase(path: StoreLocation, *, waits: bool = True) -> str:
    """Remove what was deleted from the files of the store; return what could not be done, as a sentence.

    Does nothing for a deletion that was noted but has not happened. On a server this rewrites the tables; its own logs
    and backups stay as they are.
    """
    with store_errors(path, what="the vacuum"), closing(open_writable(path, lambda _: None)) as db:
        if not isinstance(db, FileConnection):
            for table in _TABLES:
                db.execute(f"vacuum full {table}")
            return ""
        assert isinstance(path, Path)  # noqa: S101  for the type checker
        runs, sessions = _pending(path)
        gone = Deletion(runs=_missing(db, "run", runs), sessions=_missing(db, "session", sessions))
        if pending_path(path).exists() and (runs or sessions) and not (gone.runs or gone.sessions):
            return ""
        if not waits:
            db.set_busy_handler(None)
        for backup in _backups(path, gone):
            backup.unlink(missing_ok=True)
        db.pragma("secure_delete", True)
        db.execute("pragma temp_store = file")  # a vacuum in memory would take as much of it as the store is large
        try:
            db.execute("vacuum")
            busy = db.execute("pragma wal_checkpoint(truncate)").fetchone()
        except apsw.BusyError:
            busy = (1,)
    if busy is not None and busy[0]:
        return (
            f"{path}: another process uses the store, so its files still hold some of what was deleted; the next command that may "
            "write the store erases it."
        )
    pending_path(path).unlink(missing_ok=True)
    return ""


def _missing(db: Connection, table: str, ids: Sequence[str]) -> tuple[str, ...]:
    query = f"select id from {table} where id in (select value from json_each(?))"  # noqa: S608  constant names
    known = {str(id_) for (id_,) in db.execute(query, (to_json(list(ids)),))}
    return tuple(id_ for id_ in ids if id_ not in known)


def labels_of_run(db: Connection, run: str) -> int:
    """Return the number of labels on outputs and scores of a run."""
    starts = (about_output(run), about_score(run, "", "")[:-1])
    return sum(_count(db, "label where about >= ? and about < ?", start, start[:-1] + "0") for start in starts)


def labels_of_sessions(db: Connection, sessions: Sequence[str]) -> int:
    """Return the number of labels on recorded answers and steps of sessions."""
    return _count(db, f"label where about in ({_SPANS})", about_span(), to_json(list(sessions)))


def labelled_sessions(db: Connection, project: str) -> tuple[list[str], list[str]]:
    """Return the ids of the sessions of a project without labels, and of those with labels."""
    query = (
        "select id, exists (select 1 from span p join label l on l.about = ? || p.id where p.session = s.id) "
        "from session s where project = ? order by number"
    )
    rows: list[Any] = db.execute(query, (about_span(), sql_text(project))).fetchall()
    return [str(id_) for id_, labelled in rows if not labelled], [str(id_) for id_, labelled in rows if labelled]


_SPANS = "select ? || id from span where session in (select value from json_each(?))"


def _delete_sessions(db: Connection, sessions: Sequence[str]) -> None:
    ids = to_json(list(sessions))
    db.execute(f"delete from label where about in ({_SPANS})", (about_span(), ids))  # noqa: S608  constant texts
    db.execute("delete from span where session in (select value from json_each(?))", (ids,))
    db.execute("delete from session where id in (select value from json_each(?))", (ids,))


def _numbers(db: Connection, runs: Sequence[str]) -> list[int]:
    rows = db.execute("select number from run where id in (select value from json_each(?))", (to_json(list(runs)),))
    return [int(str(number)) for (number,) in rows]


def _replies(db: Connection, runs: Sequence[int]) -> tuple[set[str], set[str]]:
    """Return the keys of the recorded calls that only these runs paid for or used, and of those that others use too."""
    if not runs:
        return set(), set()
    of_these = f"run in ({', '.join(map(str, runs))})"  # row numbers, so no text of others gets into the query
    keys = {*_recorded(db, of_these), *_used(db, of_these)}
    if not keys:
        return set(), set()
    recorded = set(_recorded(db, "key in (select value from json_each(?))", to_json(sorted(keys))))
    others = {*_recorded(db, f"not ({of_these})"), *_used(db, f"not ({of_these})")}  # without calls of no run
    return (keys - others) & recorded, keys & others & recorded


def _recorded(db: Connection, condition: str, *parameters: str) -> Iterator[str]:
    """Yield the keys of the recorded calls for which a condition holds."""
    for table in ("call", "tool_call"):
        for (key,) in db.execute(f"select key from {table} where {condition}", parameters).fetchall():  # noqa: S608  constant texts
            yield from_sql(key)


def _used(db: Connection, condition: str) -> Iterator[str]:
    """Yield the keys of calls that are named by results."""
    for texts in db.execute(f"select output, scores from result where {condition}"):  # noqa: S608  constant texts
        for text in texts:
            yield from _KEY.findall(str(text))


def _refuse_open_files(db: Connection, path: StoreLocation, runs: Sequence[str], keys: set[str]) -> None:
    """Raise StoreBusyError if another process has replies of the runs in its file."""
    if not isinstance(path, Path):
        return
    for (id_,) in db.execute("select id from reply_log").fetchall():
        with contextlib.suppress(FileNotFoundError):
            file = file_path(path, str(id_))
            for record, _ in parse_records(file.read_bytes()[HEADER_SIZE:]):
                if record.run in runs or from_sql(record.row.key) in keys:
                    raise StoreBusyError(
                        f"{file}: a process that still runs has replies of these runs in this file; delete them when it has ended."
                    )


def _backups(path: StoreLocation, deletion: Deletion) -> Iterator[Path]:
    """Yield the copies that upgrades left and that hold one of the runs or sessions, or that cannot be read."""
    if not isinstance(path, Path):
        return
    form = re.compile(re.escape(path.name) + r"\.v[0-9]+\.bak")
    for file in sorted(path.parent.iterdir()):
        if form.fullmatch(file.name) and _holds(file, deletion):
            yield file


_IDS = "select 1 from {} where id in (select value from json_each(?))"


def _holds(file: Path, deletion: Deletion) -> bool:
    try:
        with closing(
            apsw.Connection(f"{file.as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        ) as db:
            tables = {name for (name,) in db.execute("select name from sqlite_schema where type = 'table'")}
            return any(
                db.execute(_IDS.format(table), (to_json(list(ids)),)).get
                for table, ids in (("run", deletion.runs), ("session", deletion.sessions))
                if table in tables
            )
    except apsw.Error:
        return True


def _count(db: Connection, what: str, *parameters: str) -> int:
    return int(str(db.execute(f"select count(*) from {what}", parameters).get))  # noqa: S608  constant texts
