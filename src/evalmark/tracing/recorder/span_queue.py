"""The queue of ended spans that wait to be written to a store, and the thread that writes them in batches."""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .copies import Arguments, StreamPieces
from .spans import OpenSession, OpenSpan

MAX_WAITING_SPANS = 10_000
"""Largest number of spans in a queue; further ones are dropped and counted."""
MAX_WAITING_CHARS = 64_000_000
"""Approximate number of characters of their inputs and outputs from which spans are dropped."""
MAX_DROP_COUNTERS = 1_000
"""Sessions with a count of dropped spans of their own; further drops are counted for the last of them."""
BATCH_SECONDS = 0.1
"""Seconds for which spans are collected before they are written together."""
EXIT_FLUSH_SECONDS = 2.0
"""Seconds for which the end of the process waits for spans to be written."""
IDLE_SECONDS = 10.0
"""Seconds without a span after which the thread ends and closes the store; the next span starts a new thread."""


class SpanQueue:
    """The ended spans that wait to be written to one store.

    The first span starts the writer thread, which calls `write`. The app calls `put` and `flush`; the writer calls the other
    methods.
    """

    def __init__(self, store: str, folder: str, write: "Callable[[SpanQueue], None]") -> None:
        """`store` is a file or an address, empty for the one in the settings; relative to `folder`."""
        self.store, self.folder, self._write = store, folder, write
        self.connections: list[object] = []
        """Open database connections. A forked process holds those of its parent here, and neither uses nor closes them."""
        self.reset()

    def reset(self) -> None:
        """Empty the queue and forget the thread; also called in a forked process."""
        # Reentrant: the garbage collector may close a recorded stream, and so call `put`, in the middle of a `put`.
        self._lock = threading.RLock()
        self._written = threading.Condition(self._lock)
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._spans: deque[OpenSpan] = deque()
        self._size = 0
        self._dropped: dict[OpenSession, int] = {}
        self._put = self._done = 0
        self._has_unwritten_drops = False
        self._thread: threading.Thread | None = None
        self._has_finalizer = False
        """Whether a process of `multiprocessing` flushes this queue when it ends."""

    # Called by the app.

    def put(self, span: OpenSpan) -> None:
        """Add an ended span, or count it as dropped if the queue is full. Never waits and never raises."""
        size = _text_size(span.input) + _text_size(span.output)
        with self._lock:
            if self._put - self._done >= MAX_WAITING_SPANS or self._size + size > MAX_WAITING_CHARS:
                self._drop(span.session)
            else:
                self._put += 1
                self._size += size
                self._spans.append(span)
            if self._thread is None:
                self._start()
        if not self._wake.is_set():
            self._wake.set()

    def _drop(self, session: OpenSession) -> None:
        if session not in self._dropped and len(self._dropped) >= MAX_DROP_COUNTERS:
            session = next(reversed(self._dropped))
        self._dropped[session] = self._dropped.get(session, 0) + 1

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="evalmark-recording", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the process is ending, or has reached its limit of threads
            for span in self._spans:
                self._drop(span.session)
            self._done, self._size = self._put, 0
            self._spans.clear()
        else:
            self._thread = thread
            self._flush_at_end_of_child()

    def _flush_at_end_of_child(self) -> None:
        """Register a flush for the end of a `multiprocessing` child, which does not run `atexit` functions."""
        process, util = sys.modules.get("multiprocessing.process"), sys.modules.get("multiprocessing.util")
        if (
            not self._has_finalizer
            and process is not None
            and util is not None
            and process.parent_process() is not None
        ):
            self._has_finalizer = True
            util.Finalize(None, self.flush, (EXIT_FLUSH_SECONDS,), exitpriority=10)

    def flush(self, timeout: float) -> bool:
        """Wait until all spans put before are stored; return False if `timeout` seconds pass first."""
        end = time.monotonic() + timeout
        with self._lock:
            target = self._put
            while self._done < target or self._dropped or self._has_unwritten_drops:
                if self._thread is None:
                    self._start()
                self._hurry.set()
                self._wake.set()
                left = end - time.monotonic()
                if left <= 0:
                    return False
                self._written.wait(left)
        return True

    # Called by the writer thread.

    def wait(self, seconds: float) -> bool:
        """Wait for a span; return False if none comes within so many seconds."""
        return self._wake.wait(seconds)

    def wait_for_more(self, seconds: float) -> None:
        """Wait so many seconds for more spans; return at once if a flush waits."""
        self._hurry.wait(seconds)

    @property
    def is_flushing(self) -> bool:
        """Whether a flush waits."""
        return self._hurry.is_set()

    def take(self) -> tuple[list[OpenSpan], dict[OpenSession, int]]:
        """Remove and return all spans, and the number of dropped spans of each session since the last call."""
        with self._lock:
            self._wake.clear()
            spans, self._spans = self._spans, deque()
            dropped, self._dropped = self._dropped, {}
            self._has_unwritten_drops = bool(dropped)
        return list(spans), dropped

    def mark_done(self, spans: int, *, has_unwritten_drops: bool = False) -> None:
        """Note that so many spans are stored or cannot be stored, and whether counts of drops are still to be written."""
        with self._lock:
            self._done += spans
            self._has_unwritten_drops = has_unwritten_drops
            if self._done == self._put:
                self._size = 0
                self._hurry.clear()
            self._written.notify_all()

    def release_texts(self, spans: list[OpenSpan]) -> None:
        """Subtract the texts of these spans from the size of the queue."""
        size = sum(_text_size(span.input) + _text_size(span.output) for span in spans)
        with self._lock:
            self._size = max(0, self._size - size)

    def may_end(self) -> bool:
        """Whether nothing waits; if so, the queue regards the calling thread as ended."""
        with self._lock:
            is_idle = self._put == self._done and not self._dropped
            if is_idle:
                self._thread = None
            return is_idle

    def thread_ended(self) -> None:
        """Note that the writer thread has ended."""
        with self._lock:
            self._thread = None

    def _work(self) -> None:
        self._hurry.wait(BATCH_SECONDS)  # keeps the imports of the writer out of the call that started the thread
        self._write(self)


def _text_size(value: Any) -> int:
    """The characters of a text, or of the texts in a mapping, a stream or arguments."""
    kind = type(value)
    if kind is str:
        return len(value)
    if kind is Arguments:
        return sum([len(item) if type(item) is str else _text_size(item) for item in value.positional]) + _text_size(
            value.named
        )
    if kind is StreamPieces:
        return sum([len(item) for item in value.items if type(item) is str])
    if kind is dict:
        return sum([len(item) for item in value.values() if type(item) is str])
    return 0
