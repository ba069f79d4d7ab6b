"""The thread that writes the spans of a queue to the store; errors are logged and never reach the app."""

import contextlib
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from evalmark.core.errors import DataError, EvalmarkError, StoreError
from evalmark.core.settings import load_settings
from evalmark.core.values.session import Span
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.open import open_writable, parse_store_location
from evalmark.storage.sessions.rows import encode_span
from evalmark.storage.sessions.store import SessionStore

from .span_queue import BATCH_SECONDS, IDLE_SECONDS, SpanQueue
from .span_values import session_value, span_value
from .spans import OpenSession

T = TypeVar("T")

LOG = "evalmark"
"""The logger for errors of recording."""
_GROUP = 500
"""Largest number of spans in one transaction."""
_PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before the next attempt after one, two, … failed ones."""
_QUIET = 600.0
"""Seconds between two log messages about a store that fails."""
_YIELD_SECONDS = 0.0002
"""Seconds that the thread sleeps after each span, so that it does not hold the interpreter lock for long."""


class SpanWriter:
    """Writes the spans of one queue until it has been idle for a while."""

    def __init__(self, queue: SpanQueue) -> None:
        self._queue = queue
        self._db: Connection | None = None
        self._path: StoreLocation | None = None
        self._ready: list[tuple[OpenSession, Span]] = []
        """Converted spans that are not stored yet, in the order in which they ended."""
        self._dropped: dict[OpenSession, int] = {}
        self._failures = 0
        """Failed attempts to write since the last successful one."""
        self._quiet_until = 0.0
        """When the next failure of the store may be logged."""
        self._has_warned = False
        """Whether it has been logged that a span cannot be stored."""

    def run(self) -> None:
        """Write until the queue is idle; this is the target of the thread."""
        try:
            while self._step():
                pass
        except Exception as error:  # noqa: BLE001  the app must not fail because of recording
            logging.getLogger(LOG).warning("Recording has stopped: %s: %s.", type(error).__name__, error)
        finally:
            self._queue.mark_done(len(self._ready))
            self._queue.thread_ended()
            self._close()

    def _step(self) -> bool:
        """Write the waiting spans, or retry; return False when the queue has been idle for a while."""
        if self._failures:
            time.sleep(_PAUSES[min(self._failures, len(_PAUSES)) - 1])
        elif not self._queue.wait(IDLE_SECONDS):
            return not self._queue.may_end()
        else:
            self._queue.wait_for_more(BATCH_SECONDS)
        if not self._ready:
            self._take()
        self._write()
        return True

    def _take(self) -> None:
        """Convert all waiting spans to values for the store."""
        spans, lost = self._queue.take()
        for session, number in lost.items():
            self._dropped[session] = self._dropped.get(session, 0) + number
        for span in spans:
            try:
                self._ready.append((span.session, span_value(span)))
            except Exception as error:  # noqa: BLE001  objects of the app are read here
                self._drop(span.session, f"{type(error).__name__}: {error}")
            if not self._queue.is_flushing:
                time.sleep(_YIELD_SECONDS)
        self._queue.release_texts(spans)

    def _write(self) -> None:
        """Write all converted spans in transactions; keep them for the next attempt if that fails."""
        while self._ready or self._dropped:
            group = self._ready[:_GROUP]
            sessions = dict.fromkeys((*(session for session, _ in group), *self._dropped))
            headers = [session_value(session, self._dropped.get(session, 0)) for session in sessions]
            try:
                self._session_store().add(headers, [span for _, span in group])
            except DataError:
                self._drop_long(group)
                continue
            except (EvalmarkError, OSError) as error:
                self._handle_failure(error)
                return
            self._failures = 0
            self._dropped = {}
            del self._ready[: len(group)]
            self._queue.mark_done(len(group))
        self._queue.mark_done(0)

    def _drop_long(self, group: list[tuple[OpenSession, Span]]) -> None:
        """Drop the spans of a group that are too long for the store."""
        sound = []
        for session, span in group:
            try:
                encode_span(span)
            except DataError as error:
                self._drop(session, str(error))
            else:
                sound.append((session, span))
        self._ready[: len(group)] = sound

    def _drop(self, session: OpenSession, why: str) -> None:
        self._dropped[session] = self._dropped.get(session, 0) + 1
        self._queue.mark_done(1, has_unwritten_drops=True)
        if not self._has_warned:
            self._has_warned = True
            logging.getLogger(LOG).warning("A span cannot be stored, and further ones may not be either: %s", why)

    def _handle_failure(self, error: Exception) -> None:
        """Log the failure of the store; spans stay in the queue, which drops and counts further ones when it is full."""
        self._failures += 1
        if time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + _QUIET
            logging.getLogger(LOG).warning(
                "Recorded spans cannot be stored, and are kept in memory until they can: %s", error
            )
        self._close()

    def _session_store(self) -> SessionStore:
        if self._path is None:
            folder = Path(self._queue.folder)
            self._path = parse_store_location(self._queue.store or load_settings(os.environ, folder).store, folder)
        is_moved = isinstance(self._path, Path) and not self._path.exists()
        if self._db is not None and is_moved:  # the file was removed or moved: create a new one
            self._close()
        if self._db is None:
            self._db = open_writable(self._path, lambda _: None)
            self._queue.connections.append(self._db)
        return SessionStore(self._path, self._act, self._act)

    def _act(self, act: Callable[[Connection], T], what: str = "", needed: int = 0) -> T:
        path, db = self._path, self._db
        if path is None or db is None:
            raise StoreError("the store is not open; record something first.")
        with store_errors(path, needed=needed, what=what):
            return act(db)

    def _close(self) -> None:
        if self._db is not None:
            self._queue.connections.remove(self._db)
            with contextlib.suppress(apsw.Error):  # committed data is safe
                self._db.close()
            self._db = None
