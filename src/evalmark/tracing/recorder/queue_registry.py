"""The span queues of this process, one for each store."""

import atexit
import os
import threading
import time

from evalmark.core.lazy import need

from .span_queue import EXIT_FLUSH_SECONDS, SpanQueue


class _SpanQueues:
    """The queues of this process, by store."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._known: dict[tuple[str, str, str], SpanQueue] = {}

    def find(self, key: tuple[str, str, str]) -> SpanQueue:
        """Return the queue of a store, created if there is none; the first one registers `atexit` and fork handlers."""
        with self._lock:
            if not self._known:
                atexit.register(self.flush, EXIT_FLUSH_SECONDS)
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(after_in_child=self._reset_in_child)
            if key not in self._known:
                self._known[key] = SpanQueue(key[0], key[1], _write_spans)
            return self._known[key]

    def get(self, key: tuple[str, str, str]) -> SpanQueue | None:
        """Return the queue of a store, None if there is none yet."""
        return self._known.get(key)

    def flush(self, timeout: float) -> bool:
        """Flush all queues within so many seconds in total."""
        end = time.monotonic() + timeout
        done = [queue.flush(max(0.0, end - time.monotonic())) for queue in list(self._known.values())]
        return all(done)

    def _reset_in_child(self) -> None:
        self._lock = threading.RLock()
        for queue in self._known.values():
            queue.reset()


def _write_spans(queue: SpanQueue) -> None:
    """Write the spans of a queue; loads the store, so it runs in the thread of the writer only."""
    need("evalmark.tracing.recorder.writer").SpanWriter(queue).run()


# One queue and one thread for each store, however many functions of the app are recorded.
_QUEUES = _SpanQueues()


def queue_for(store: str | os.PathLike[str] | None) -> SpanQueue | None:
    """Return the queue of a store; None if the working directory no longer exists."""
    try:
        folder = os.getcwd()  # noqa: PTH109  called for each session: Path.cwd takes five times as long
    except OSError:
        return None
    key = ("" if store is None else os.fspath(store), folder, os.environ.get("EVALMARK_STORE", ""))
    return _QUEUES.get(key) or _QUEUES.find(key)


def flush(timeout: float = 5.0) -> bool:
    """Wait until everything recorded so far is in the store.

    Args:
        timeout: Seconds to wait at most.

    Returns:
        Whether everything is stored.

    Example:
        >>> from evalmark.recording import flush
        >>> flush(timeout=1.0)
        True
    """
    return _QUEUES.flush(timeout)
