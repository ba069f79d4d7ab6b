"""Where spans wait for the disk: a bounded line for each store, and a thread that writes in groups."""

import atexit
import os
import sys
import threading
import time
from collections import deque
from typing import Any

from evalmark.core.lazy import need

from .copying import Pieces
from .under_way import OpenSession, OpenSpan
from .wrapping import Arguments

MOST_WAITING = 10_000
"""Spans that wait for the disk; what comes then is dropped and counted."""
MOST_CHARACTERS = 64_000_000
"""Characters of their inputs and outputs, about."""
MOST_LOSERS = 1_000
"""Sessions whose dropped spans are counted each for itself; the rest counts for the last of them."""
GATHERING = 0.1
"""Seconds in which spans are gathered to be written together."""
FAREWELL = 2.0
"""Seconds that the end of the process waits for what has not been written."""
IDLE = 10.0
"""Seconds without a span after which the thread ends and the file is closed; the next span begins a new one."""


class Desk:
    """The spans that wait for one store, and the thread that writes them, which is begun when there are some."""

    def __init__(self, store: str, folder: str) -> None:
        self.store, self.folder = store, folder
        """The file, empty for that of the settings; and the working directory where recording began."""
        self.held: list[object] = []
        """Open connections. One must not be closed in a child of the process: there it is held and not used."""
        self.begin_anew()

    def begin_anew(self) -> None:
        """Nothing waits, and no thread runs: at the beginning, and in a child of the process."""
        # Reentrant: what is put may be a stream that the garbage collector closes in the midst of another `put`.
        self._lock = threading.RLock()
        self._written = threading.Condition(self._lock)
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._waiting: deque[OpenSpan] = deque()
        self._weight = 0
        self._lost: dict[OpenSession, int] = {}
        self._put = self._done = 0
        self._owing = False
        self._thread: threading.Thread | None = None
        self._is_heeded = False
        """Whether a child that multiprocessing has made waits for this desk at its end."""

    # The app's side.

    def put(self, span: OpenSpan) -> None:
        """Take a span that has ended, or count it as dropped where too many wait; never waits, never raises."""
        weight = _weight(span.input) + _weight(span.output)
        with self._lock:
            if self._put - self._done >= MOST_WAITING or self._weight + weight > MOST_CHARACTERS:
                self._lose(span.session)
            else:
                self._put += 1
                self._weight += weight
                self._waiting.append(span)
            if self._thread is None:
                self._start()
        if not self._wake.is_set():
            self._wake.set()

    def _lose(self, session: OpenSession) -> None:
        if session not in self._lost and len(self._lost) >= MOST_LOSERS:
            session = next(reversed(self._lost))
        self._lost[session] = self._lost.get(session, 0) + 1

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="evalmark-recording", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread can be had: the process ends, or has as many as it may
            for span in self._waiting:
                self._lose(span.session)
            self._done, self._weight = self._put, 0
            self._waiting.clear()
        else:
            self._thread = thread
            self._heed_multiprocessing()

    def _heed_multiprocessing(self) -> None:
        """Have what waits written at the end of a child of multiprocessing too, which leaves without `atexit`."""
        process, util = sys.modules.get("multiprocessing.process"), sys.modules.get("multiprocessing.util")
        if not self._is_heeded and process is not None and util is not None and process.parent_process() is not None:
            self._is_heeded = True
            util.Finalize(None, self.flush, (FAREWELL,), exitpriority=10)

    def flush(self, timeout: float) -> bool:
        """Wait until all that was put before is in the store; False when time is up."""
        end = time.monotonic() + timeout
        with self._lock:
            wanted = self._put
            while self._done < wanted or self._lost or self._owing:
                if self._thread is None:
                    self._start()
                self._hurry.set()
                self._wake.set()
                left = end - time.monotonic()
                if left <= 0:
                    return False
                self._written.wait(left)
        return True

    # The side of the thread.

    def wait(self, seconds: float) -> bool:
        """Until something is put; False after so many seconds without."""
        return self._wake.wait(seconds)

    def gather(self, seconds: float) -> None:
        """Let more come, unless somebody waits for it to be written."""
        self._hurry.wait(seconds)

    @property
    def is_hurried(self) -> bool:
        """Whether somebody waits for all to be written."""
        return self._hurry.is_set()

    def take(self) -> tuple[list[OpenSpan], dict[OpenSession, int]]:
        """All that waits, and how much was dropped since the last time."""
        with self._lock:
            self._wake.clear()
            taken, self._waiting = self._waiting, deque()
            lost, self._lost = self._lost, {}
            self._owing = bool(lost)
        return list(taken), lost

    def settle(self, spans: int, *, owing: bool = False) -> None:
        """So many spans are in the store, or lost for good; whether counts of dropped ones are still to be written."""
        with self._lock:
            self._done += spans
            self._owing = owing
            if self._done == self._put:
                self._weight = 0
                self._hurry.clear()
            self._written.notify_all()

    def lighten(self, spans: list[OpenSpan]) -> None:
        """The texts of some spans are on their way."""
        weight = sum(_weight(span.input) + _weight(span.output) for span in spans)
        with self._lock:
            self._weight = max(0, self._weight - weight)

    def may_end(self) -> bool:
        """Whether nothing waits; then the thread that asks has ended for this desk."""
        with self._lock:
            is_idle = self._put == self._done and not self._lost
            if is_idle:
                self._thread = None
            return is_idle

    def gone(self) -> None:
        """The thread has ended."""
        with self._lock:
            self._thread = None

    def _work(self) -> None:
        self._hurry.wait(GATHERING)  # the call that has begun the thread shall not wait for what it loads
        need("evalmark.tracing.recorder.writing").Writer(self).run()


def _weight(value: Any) -> int:
    """The characters of a text, or of the texts that stand in a mapping or in arguments."""
    kind = type(value)
    if kind is str:
        return len(value)
    if kind is Arguments:
        return sum([len(item) if type(item) is str else _weight(item) for item in value.positional]) + _weight(
            value.named
        )
    if kind is Pieces:
        return sum([len(item) for item in value.found if type(item) is str])
    if kind is dict:
        return sum([len(item) for item in value.values() if type(item) is str])
    return 0


class _Desks:
    """The desks of this process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._known: dict[tuple[str, str, str], Desk] = {}

    def find(self, key: tuple[str, str, str]) -> Desk:
        """The desk of a store; the first one has the end of the process and its forks heeded."""
        with self._lock:
            if not self._known:
                atexit.register(self.flush, FAREWELL)
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(after_in_child=self._in_a_child)
            if key not in self._known:
                self._known[key] = Desk(key[0], key[1])
            return self._known[key]

    def get(self, key: tuple[str, str, str]) -> Desk | None:
        """The desk of a store, where there is one already."""
        return self._known.get(key)

    def flush(self, timeout: float) -> bool:
        """Wait for all desks, for so many seconds together."""
        end = time.monotonic() + timeout
        done = [desk.flush(max(0.0, end - time.monotonic())) for desk in list(self._known.values())]
        return all(done)

    def _in_a_child(self) -> None:
        self._lock = threading.RLock()
        for desk in self._known.values():
            desk.begin_anew()


# One line and one thread a store, whoever records: an app has many functions and one disk.
_DESKS = _Desks()


def desk_for(store: str | os.PathLike[str] | None) -> Desk | None:
    """Where the spans for a store go; None where not even the working directory can be told."""
    try:
        folder = os.getcwd()  # noqa: PTH109  for each session: a Path takes five times as long
    except OSError:
        return None
    key = ("" if store is None else os.fspath(store), folder, os.environ.get("EVALMARK_STORE", ""))
    return _DESKS.get(key) or _DESKS.find(key)


def flush(timeout: float = 5.0) -> bool:
    """Wait until all that has been recorded so far is in the store, for so many seconds at most; whether it is."""
    return _DESKS.flush(timeout)
