"""The call log of chat models: stores the calls of a run and finds earlier replies."""

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from evalmark.core.values.call import Call, Reply
from evalmark.core.values.spending import Spending
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.fields import from_sql, sql_text
from evalmark.storage.database.schema import transaction

from .group_commit import GroupCommit
from .masking import masked_call
from .requests_in_flight import RequestsInFlight
from .rows import COLUMNS, CallRow, decode_replayed_reply, encode_call
from .spending import add_spent, spent_by


class LogEntry(NamedTuple):
    """A call to be stored."""

    key: str
    row: CallRow
    spent: Spending
    sent: RequestsInFlight | None
    """The requests in flight of the run that pays for the call; None outside of runs."""
    note: int
    """The position of the note that the call answers."""


_KEPT = ("run", *CallRow._fields)
_KEEP = f"""
    insert into call ({", ".join(_KEPT)}) values ({", ".join("?" * len(_KEPT))})
    on conflict (key) do update set {", ".join(f"{name} = excluded.{name}" for name in _KEPT if name != "key")}
    where excluded.ok >= call.ok
"""  # noqa: S608  columns, not data
_NEXT = "select min(identity) from call where ok = 1 and identity > ?"
_FIND = f"select {COLUMNS} from call where key = ? and ok = 1"  # noqa: S608  columns, not data


def save_calls(db: Connection, entries: Sequence[LogEntry]) -> None:
    """Save calls in one transaction in the writer thread. They are durable when this returns."""
    answers = _answers(entries)
    with transaction(db):
        db.executemany(_KEEP, [(entry.sent and entry.sent.of.run, *entry.row) for entry in entries])
        add_spent(db, _spent(entries, answers))
        for sent, calls in answers.items():
            sent.save(db, {key: call.note for key, call in calls.items()})
    for sent, calls in answers.items():
        sent.mark_answered({key: call.note for key, call in calls.items()})


def _answers(entries: Sequence[LogEntry]) -> Mapping[RequestsInFlight, Mapping[str, LogEntry]]:
    """Group the calls by the run whose requests they answer, and by key."""
    found: defaultdict[RequestsInFlight, dict[str, LogEntry]] = defaultdict(dict)
    for entry in entries:
        if entry.sent is not None:
            found[entry.sent][entry.key] = entry
    return found


def _spent(
    entries: Sequence[LogEntry], answers: Mapping[RequestsInFlight, Mapping[str, LogEntry]]
) -> Mapping[tuple[int, str | bytes], Sequence[Spending]]:
    spent: defaultdict[tuple[int, str | bytes], list[Spending]] = defaultdict(list)
    for entry in entries:
        if entry.sent is not None:
            spent[entry.sent.of.run, entry.row.model].append(entry.spent)
    for sent, calls in answers.items():
        for key, call in calls.items():
            if times := sent.repeats(key):
                spent[sent.of.run, call.row.model].append(Spending(model=call.spent.model, repeated=times))
    return spent


class RowLookup:
    """Finds rows on its own connection in the caller's thread, which is faster than another thread."""

    def __init__(self, path: StoreLocation, usable: Callable[[], None], connect: Callable[[], Connection]) -> None:
        self.path, self._usable, self._connect = path, usable, connect
        self._lock = threading.Lock()
        self._db: Connection | None = None

    def __call__(self, query: str, key: str) -> tuple[Any, ...] | None:
        """Return the row that a query finds for a key; None if there is none.

        Raises:
            StoreError: the store cannot be read.
        """
        self._usable()
        with store_errors(self.path), self._lock:
            if self._db is None:
                self._db = self._connect()
            row: tuple[Any, ...] | None = self._db.execute(query, (sql_text(key),)).fetchone()
        return row

    def close(self) -> None:
        """Close the connection."""
        if self._db is not None:
            self._db.close()


class StoredCallLog:
    """Stores the calls of one run, or calls outside of runs."""

    def __init__(
        self,
        lookups: RowLookup,
        notes: Callable[[str], None],
        writable: Callable[[], object],
        log: GroupCommit[LogEntry],
        sent: RequestsInFlight | None,
    ) -> None:
        self._lookups, self._notes, self._writable, self._log, self._sent = lookups, notes, writable, log, sent

    async def find(self, key: str) -> Reply | None:
        """Return the replayable reply with this key, marked as replayed; None if there is none.

        A damaged call is reported as a note, and counts as missing.

        Raises:
            StoreError: the store cannot be read.
        """
        row = self._lookups(_FIND, key)
        if row is None:
            return None
        try:
            return decode_replayed_reply(CallRow._make(row))
        except (ValueError, TypeError) as error:
            self._notes(
                f"{self._lookups.path}: the recorded call {key} is damaged ({error}) and counts as not recorded."
            )
            return None

    async def identities(self) -> list[str]:
        """Return the models, each with its address, that have replayable replies.

        Raises:
            StoreError: the store cannot be read.
        """
        found: list[str] = []
        while (row := self._lookups(_NEXT, found[-1] if found else "")) is not None and row[0] is not None:
            found.append(from_sql(row[0]))
        return found

    async def sending(self, key: str) -> None:
        """Note that a request is about to be sent; does nothing outside of runs.

        Raises:
            StoreFullError: the disk is full.
            StoreError: the note cannot be written.
        """
        self._writable()
        if self._sent is not None:
            # Wait until finished calls are stored: otherwise a kill could lose more calls than are allowed to be in
            # flight.
            await self._log.wait_saved()
            self._sent.note(key)

    async def keep(self, call: Call) -> Call | None:
        """Store a call without secrets. It is durable when this returns. Returns the call if its reply was masked.

        It replaces an earlier call with its key, unless only the earlier one can be replayed. If the task is
        cancelled meanwhile, the call is stored nevertheless.

        Raises:
            StoreFullError: the disk is full; the call is not stored; earlier ones stay.
            StoreError: the store cannot be written.
        """
        self._writable()
        note = 0 if self._sent is None else self._sent.last_note(call.key)
        call = masked_call(call)
        await self._log.write(LogEntry(call.key, encode_call(call), spent_by(call), self._sent, note))
        return call if call.masked else None
