"""The thread that puts what waits at a desk into its store; whatever fails there is a line in the log."""

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

from .desks import GATHERING, IDLE, Desk
from .texts import header, sealed
from .under_way import OpenSession

T = TypeVar("T")

LOG = "evalmark"
"""The logger that is told when nothing can be recorded."""
_GROUP = 500
"""Spans of one transaction."""
_PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds between attempts to write what could not be written."""
_QUIET = 600.0
"""Seconds between two lines in the log on a store that fails."""
_BREATH = 0.0002
"""Seconds that the thread sleeps after each span: one that computes on end would hold up the app's threads."""


class Writer:
    """Writes what waits at one desk until nothing comes any more."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._db: Connection | None = None
        self._path: StoreLocation | None = None
        self._ready: list[tuple[OpenSession, Span]] = []
        """Spans that are on their way to the store, in the order in which they ended."""
        self._lost: dict[OpenSession, int] = {}
        self._failures = 0
        """Attempts to write that have failed since the last one that has not."""
        self._quiet_until = 0.0
        """When the log may next be told that the store fails; a disk that is nearly full fails again and again."""
        self._told = False
        """Whether the log knows that some span cannot be recorded."""

    def run(self) -> None:
        """The thread's work."""
        try:
            while self._turn():
                pass
        except Exception as fault:  # noqa: BLE001  the app must not notice whatever is wrong here
            logging.getLogger(LOG).warning("Recording has stopped: %s: %s.", type(fault).__name__, fault)
        finally:
            self._desk.settle(len(self._ready))
            self._desk.gone()
            self._close()

    def _turn(self) -> bool:
        """Write what has come, or try again; False once nothing has come for a while."""
        if self._failures:
            time.sleep(_PAUSES[min(self._failures, len(_PAUSES)) - 1])
        elif not self._desk.wait(IDLE):
            return not self._desk.may_end()
        else:
            self._desk.gather(GATHERING)
        if not self._ready:
            self._take()
        self._write()
        return True

    def _take(self) -> None:
        """Make values for the store of all that waits."""
        taken, lost = self._desk.take()
        for session, number in lost.items():
            self._lost[session] = self._lost.get(session, 0) + number
        for span in taken:
            try:
                self._ready.append((span.session, sealed(span)))
            except Exception as fault:  # noqa: BLE001  foreign code: objects of the app that are read here
                self._lose(span.session, f"{type(fault).__name__}: {fault}")
            if not self._desk.is_hurried:
                time.sleep(_BREATH)
        self._desk.lighten(taken)

    def _write(self) -> None:
        """Put all that is ready into the store, a transaction for each group; what fails is ready still."""
        while self._ready or self._lost:
            group = self._ready[:_GROUP]
            sessions = dict.fromkeys((*(session for session, _ in group), *self._lost))
            headers = [header(session, self._lost.get(session, 0)) for session in sessions]
            try:
                self._traffic().add(headers, [span for _, span in group])
            except DataError:
                self._leave_out_long(group)
                continue
            except (EvalmarkError, OSError) as fault:
                self._failed(fault)
                return
            self._failures = 0
            self._lost = {}
            del self._ready[: len(group)]
            self._desk.settle(len(group))
        self._desk.settle(0)

    def _leave_out_long(self, group: list[tuple[OpenSession, Span]]) -> None:
        """Take out of a group what is too long to be kept."""
        sound = []
        for session, span in group:
            try:
                encode_span(span)
            except DataError as fault:
                self._lose(session, str(fault))
            else:
                sound.append((session, span))
        self._ready[: len(group)] = sound

    def _lose(self, session: OpenSession, why: str) -> None:
        self._lost[session] = self._lost.get(session, 0) + 1
        self._desk.settle(1, owing=True)
        if not self._told:
            self._told = True
            logging.getLogger(LOG).warning("A span cannot be recorded, and further ones may not be: %s", why)

    def _failed(self, fault: Exception) -> None:
        """Say it once; as long as it lasts, spans wait, and those that come when too many wait are dropped and counted."""
        self._failures += 1
        if time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + _QUIET
            logging.getLogger(LOG).warning("What is recorded cannot be kept and waits: %s", fault)
        self._close()

    def _traffic(self) -> SessionStore:
        if self._path is None:
            folder = Path(self._desk.folder)
            self._path = parse_store_location(self._desk.store or load_settings(os.environ, folder).store, folder)
        is_moved = isinstance(self._path, Path) and not self._path.exists()
        if self._db is not None and is_moved:  # a new one is begun
            self._close()
        if self._db is None:
            self._db = open_writable(self._path, lambda _: None)
            self._desk.held.append(self._db)
        return SessionStore(self._path, self._act, self._act)

    def _act(self, act: Callable[[Connection], T], what: str = "", needed: int = 0) -> T:
        path, db = self._path, self._db
        if path is None or db is None:
            raise StoreError("the store is not open; record something first.")
        with store_errors(path, needed=needed, what=what):
            return act(db)

    def _close(self) -> None:
        if self._db is not None:
            self._desk.held.remove(self._db)
            with contextlib.suppress(apsw.Error):  # what was committed is there
                self._db.close()
            self._db = None
