"""Recovers, copies and checks the files of replies next to a store."""

import contextlib
import glob
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from evalmark.core.values.call import Call
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.errors import format_size
from evalmark.storage.database.fields import from_sql
from evalmark.storage.database.schema import transaction

from .entries import LogEntry, put_calls
from .reply_file import HEADER_SIZE, ReplyRecord, file_path, lock_file, mark_processed, parse_records
from .requests_in_flight import RequestsInFlight, RunPass, reopen
from .rows import decode_call
from .spending import spent_by

Notes = Callable[[str], None]


def has_files(db: Connection, store: Path) -> bool:
    """Return whether a file has replies that the store has not processed, or has to be deleted."""
    rows = db.execute("select id, processed from reply_log").fetchall()
    return any(processed is not None or file_path(store, id_).exists() for id_, processed in rows)


def recover(db: Connection, store: Path, notes: Notes | None) -> None:
    """Move the replies of processes that have ended into the store, and delete their files.

    Files of living processes are locked and stay as they are. A reply that was cut off is left out: it was not
    acknowledged. What is missing or damaged is reported by `notes`; without `notes` it stays for the next caller.
    """
    if not has_files(db, store):
        return
    with contextlib.ExitStack() as opened:
        with transaction(db):  # also ensures that no two processes recover the same file, or hold its lock for that
            logs = db.execute("select id, processed from reply_log").fetchall()
            files = [_recover_file(db, store, log, opened, notes is None) for log in logs]
        for file in files:
            if file.is_done:
                with contextlib.suppress(OSError):
                    file.path.unlink()
            for message in file.messages:
                if notes is not None:
                    notes(message)


class _Recovered(NamedTuple):
    path: Path
    is_done: bool = False
    """Whether the file can be deleted."""
    messages: Sequence[str] = ()


def _recover_file(
    db: Connection, store: Path, log: tuple[str, int | None], opened: contextlib.ExitStack, is_quiet: bool
) -> _Recovered:
    """Process the rest of a file in the transaction of the caller; `is_quiet` leaves what has to be reported."""
    id_, processed = log
    path = file_path(store, id_)
    try:
        file = opened.enter_context(path.open("rb"))
    except FileNotFoundError:
        messages = [] if processed is None else [_missing(path)]
        if not (messages and is_quiet):
            db.execute("delete from reply_log where id = ?", (id_,))
        return _Recovered(path, messages=messages)
    except PermissionError:
        return _Recovered(
            path, messages=[f"{path}: another user's run wrote this file with replies, and it cannot be read."]
        )
    if not lock_file(file.fileno()):
        return _Recovered(path)
    if processed is None:
        return _Recovered(path, is_done=True)
    file.seek(processed)
    data = file.read()
    entries, size = _read_entries(db, store, data)
    put_calls(db, entries)
    left = len(data) - size
    is_done = not (left and is_quiet)
    mark_processed(db, id_, None if is_done else processed + size)
    return _Recovered(path, is_done, [_left_out(path, left)] if left else ())


def _missing(path: Path) -> str:
    return (
        f"{path}: this file is missing: the store was copied without it, or it was deleted. It had the newest replies of a "
        "run; requests without a stored reply are sent again when they are needed."
    )


def _left_out(path: Path, size: int) -> str:
    return f"{path}: its last {format_size(size)} are no complete call and were left out; all calls before that are in the store."


def _read_entries(db: Connection, store: Path, data: bytes) -> tuple[list[LogEntry], int]:
    """Return the calls in the data up to the first one that is cut off or damaged, and how many bytes they take."""
    calls: list[tuple[ReplyRecord, Call]] = []
    size = 0
    for record, end in parse_records(data):
        try:
            calls.append((record, decode_call(record.row)))
        except (ValueError, TypeError):
            break
        size = end
    sent = _requests(db, store, [record for record, _ in calls])
    entries = [
        LogEntry(call.key, record.row, spent_by(call), requests, record.note)
        for (record, call), requests in zip(calls, sent, strict=True)
    ]
    return entries, size


def _requests(db: Connection, store: Path, records: Sequence[ReplyRecord]) -> list[RequestsInFlight | None]:
    """Return for each record the requests of the pass that sent it; None outside of runs, and if the run was deleted."""
    answered: defaultdict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for record in records:
        answered[record.run, record.pass_][from_sql(record.row.key)] = record.note
    passes: dict[tuple[str, int], RequestsInFlight | None] = {}
    for (run_id, pass_), keys in answered.items():
        number = db.execute("select number from run where id = ?", (run_id,)).get
        passes[run_id, pass_] = None if number is None else reopen(db, store, RunPass(number, pass_), keys)
    return [passes[record.run, record.pass_] for record in records]


def unknown_files(db: Connection, store: Path) -> list[Path]:
    """Return files of replies next to the store that no living process writes and that the store has no row for.

    Such a file belongs to another store, or to a newer state of this one. One without any reply is deleted.
    """
    known = {id_ for (id_,) in db.execute("select id from reply_log")}
    form = re.compile(re.escape(f"{store.name}-replies-") + "([0-9a-f]{16})")
    found = (form.fullmatch(name) for name in os.listdir(store.parent))  # noqa: PTH208  names are enough
    paths = [store.with_name(match[0]) for match in found if match is not None and match[1] not in known]
    return [path for path in paths if _is_left_over(path)]


def _is_left_over(path: Path) -> bool:
    """Return whether no process writes a file that has replies; delete one without replies."""
    try:
        with path.open("rb") as file:
            if not lock_file(file.fileno()):
                return False
            if not file.read(HEADER_SIZE + 1)[HEADER_SIZE:]:  # a process was killed before it used the file
                path.unlink()
                return False
    except OSError:
        return False
    return True


def unknown_file_message(path: Path) -> str:
    """Say that a file of replies was not read, and what to do with it."""
    return (
        f"{path}: this file with replies belongs to another store, or to another copy of this one, and was not read. Move it "
        "back next to its store, or delete it."
    )


def problems(db: Connection, store: Path) -> list[str]:
    """Describe files that are missing, that the store has not processed, or that do not belong to it."""
    messages = [unknown_file_message(path) for path in unknown_files(db, store)]
    for id_, processed in db.execute("select id, processed from reply_log where processed is not null"):
        path = file_path(store, id_)
        if not path.exists():
            messages.append(_missing(path))
        elif (rest := path.stat().st_size - processed) > 0:
            messages.append(
                f"{path}: {format_size(rest)} of replies are not in the store yet. The run that receives them moves them into it; "
                "if it was killed, the next command that may write the store does."
            )
    return messages


# Copies.


def open_files(db: Connection, store: Path) -> dict[str, BinaryIO]:
    """Open all files of a store for `copy_files`, before the store is copied; a file may be deleted meanwhile."""
    found: dict[str, BinaryIO] = {}
    for (id_,) in db.execute("select id from reply_log where processed is not null"):
        with contextlib.suppress(FileNotFoundError):
            found[id_] = file_path(store, id_).open("rb")
    return found


def copy_files(opened: Mapping[str, BinaryIO], store: Path, db: Connection, to: Path) -> None:
    """Copy what a copy of a store, to which `db` is connected, has not processed of the files."""
    for id_, processed in db.execute("select id, processed from reply_log where processed is not null").fetchall():
        rest = b""
        with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as stack:
            # One that is neither opened nor there was begun and ended while the store was copied.
            file = opened.get(id_) or stack.enter_context(file_path(store, id_).open("rb"))
            file.seek(processed)
            rest = file.read()
        if not rest:
            mark_processed(db, id_, None)
            continue
        handle = os.open(file_path(to, id_), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as copy:
            copy.seek(processed)  # the part before is never read
            copy.write(rest)


def left_records(store: Path) -> Iterator[ReplyRecord]:
    """Yield all complete records of the files next to a store that may be damaged."""
    for path in sorted(store.parent.glob(f"{glob.escape(store.name)}-replies-*")):
        _, _, data = path.read_bytes().partition(b"\n")
        for record, _ in parse_records(data):
            yield record
