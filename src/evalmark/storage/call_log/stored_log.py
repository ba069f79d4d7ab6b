"""The call log of chat models: stores the calls of a run and finds earlier replies."""

from collections.abc import Callable

from evalmark.core.values.call import Call, Reply
from evalmark.storage.database.fields import from_sql

from .entries import LogEntry
from .lookups import CallLookup
from .masking import masked_call
from .reply_log import ReplyLog
from .requests_in_flight import RequestsInFlight
from .rows import decode_replayed_reply, encode_call
from .spending import spent_by

_NEXT = "select min(identity) from call where ok = 1 and identity > ?"


class StoredCallLog:
    """Stores the calls of one run, or calls outside of runs."""

    def __init__(
        self,
        find: CallLookup,
        notes: Callable[[str], None],
        writable: Callable[[], object],
        log: ReplyLog,
        sent: RequestsInFlight | None,
    ) -> None:
        self._find, self._notes, self._writable, self._log, self._sent = find, notes, writable, log, sent

    async def find(self, key: str) -> Reply | None:
        """Return the replayable reply with this key, marked as replayed; None if there is none.

        A damaged call is reported as a note, and counts as missing.

        Raises:
            StoreError: the store cannot be read.
        """
        row = self._find(key)
        if row is None:
            return None
        try:
            return decode_replayed_reply(row)
        except (ValueError, TypeError) as error:
            self._notes(
                f"{self._find.lookups.path}: the recorded call {key} is damaged ({error}) and counts as not recorded."
            )
            return None

    async def identities(self) -> list[str]:
        """Return the models, each with its address, that have replayable replies.

        Raises:
            StoreError: the store cannot be read.
        """
        found: list[str] = []
        while (row := self._find.lookups(_NEXT, found[-1] if found else "")) is not None and row[0] is not None:
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
            # Otherwise a kill could lose more calls than are allowed to be in flight.
            await self._log.wait_survives()
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
