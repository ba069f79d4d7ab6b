"""The journal of one run: what was asked, what came back, and what is still under way."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from apsw import Connection

from evalmark.database.faults import explained
from evalmark.database.fields import sql_text
from evalmark.database.schema import transaction
from evalmark.values import Call

from .log import Log
from .rows import COLUMNS, CallRow, decode_call, encode_call
from .spending import Sums, add_spent, sums_of


class Pass(NamedTuple):
    """A run while one process writes it, from its start or from one of its resumes."""

    run: int
    """The run's number in the store."""
    number: int
    """1 at first, one more with every resume."""


class Entry(NamedTuple):
    """What a task hands in: the key of a request that is about to go out, or a whole call."""

    key: str | bytes
    of: Pass | None
    row: CallRow | None = None
    sums: Sums | None = None


_KEPT = ("run", *CallRow._fields)
_KEEP = f"""
    insert into call ({", ".join(_KEPT)}) values ({", ".join("?" * len(_KEPT))})
    on conflict (key) do update set {", ".join(f"{name} = excluded.{name}" for name in _KEPT if name != "key")}
    where excluded.ok >= call.ok
"""  # noqa: S608  columns, not data
_FIND = f"select {COLUMNS} from call where key = ? and ok = 1"  # noqa: S608  columns, not data


def save(db: Connection, entries: Sequence[Entry]) -> None:
    """Save calls and notes of requests in one transaction, in the writer's thread.

    When this returns, calls are on the disk. Notes alone are with the system: they survive the
    end of this process, which is what they are for, and so need not wait for the disk.
    """
    if any(entry.row is not None for entry in entries):
        _save(db, entries)
        return
    db.execute("pragma synchronous = normal")
    try:
        _save(db, entries)
    finally:
        db.execute("pragma synchronous = full")


def _save(db: Connection, entries: Sequence[Entry]) -> None:
    with transaction(db):
        _keep(db, [entry for entry in entries if entry.row is not None])
        _note(db, [entry for entry in entries if entry.row is None])


def _note(db: Connection, entries: Iterable[Entry]) -> None:
    db.executemany(
        "insert or ignore into sent (run, key, pass) values (?, ?, ?)",
        [(entry.of.run, entry.key, entry.of.number) for entry in entries if entry.of is not None],
    )


def _keep(db: Connection, entries: Sequence[Entry]) -> None:
    db.executemany(_KEEP, [(entry.of and entry.of.run, *entry.row) for entry in entries if entry.row is not None])
    spent: defaultdict[tuple[int, str | bytes], list[Sums]] = defaultdict(list)
    for entry in entries:
        if entry.of is not None and entry.row is not None and entry.sums is not None:
            spent[entry.of.run, entry.row.model].append(entry.sums)
    for run, model in _sent_again(db, entries):
        spent[run, model].append(Sums(repeated=1))
    add_spent(db, spent)


def _sent_again(db: Connection, entries: Sequence[Entry]) -> list[tuple[int, str | bytes]]:
    """Take the requests of these calls off what is under way; gives the model of each that an earlier pass had sent."""
    ours = {(entry.of.run, entry.key): entry for entry in entries if entry.of is not None and entry.row is not None}
    gone = db.executemany(
        "delete from sent where run = ? and key = ? and pass <= ? returning run, key, pass",
        [(run, key, entry.of.number) for (run, key), entry in ours.items() if entry.of is not None],
    )
    found = []
    for run, key, number in gone:
        entry = ours[run, key]
        if entry.of is not None and entry.row is not None and number < entry.of.number:
            found.append((run, entry.row.model))
    return found


class Finder:
    """Looks calls up on a connection of its own, straight from the caller's thread: a thread hop would cost more."""

    def __init__(
        self, path: Path, usable: Callable[[], None], connect: Callable[[], Connection], notes: Callable[[str], None]
    ) -> None:
        self._path, self._usable, self._connect, self._notes = path, usable, connect, notes
        self._lock = threading.Lock()
        self._db: Connection | None = None

    def __call__(self, key: str) -> Call | None:
        """The call with a key whose reply may stand for the truth; of one that is damaged, only a note is given."""
        self._usable()
        with explained(self._path), self._lock:
            if self._db is None:
                self._db = self._connect()
            row = self._db.execute(_FIND, (sql_text(key),)).fetchone()
        if row is None:
            return None
        try:
            return decode_call(CallRow._make(row))
        except (ValueError, TypeError) as error:
            self._notes(f"{self._path}: the recorded call {key} is damaged ({error}) and counts as not recorded.")
            return None

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()


class CallJournal:
    """Keeps the calls of one run, or of none."""

    def __init__(
        self, find: Callable[[str], Call | None], writable: Callable[[], object], log: Log[Entry], of: Pass | None
    ) -> None:
        self._find, self._writable, self._log, self._of = find, writable, log, of

    async def find(self, key: str) -> Call | None:
        """The call with this key, if its reply may stand for the truth.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._find(key)

    async def sending(self, key: str) -> None:
        """Note that a request is about to go out; outside of runs nobody would ask for the note.

        Raises:
            StoreError: the store cannot be written, or is full.
        """
        self._writable()
        if self._of is not None:
            await self._log.write(Entry(sql_text(key), self._of))

    async def keep(self, call: Call) -> None:
        """Make a call durable: when this returns, it is on the disk.

        It takes the place of an earlier one with its key, unless only the earlier one can be replayed.
        A task that is cancelled meanwhile has its call kept all the same.

        Raises:
            StoreFullError: the disk is full; the call is not kept, all that were acknowledged are.
            StoreError: the store cannot be written.
        """
        self._writable()
        row = encode_call(call)
        await self._log.write(Entry(row.key, self._of, row, sums_of(call)))
