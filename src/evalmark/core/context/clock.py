"""Measure the time that users' code takes."""

from time import perf_counter


class Stopwatch:
    """Measures the wall time of a call. A call that continues elsewhere (thread, then loop) may enter it again.

    Enter it in the thread or task that runs the call, around the call only, so that time in queues does not count.
    """

    __slots__ = ("_since", "_spent")

    def __init__(self) -> None:
        self._spent: float | None = None
        self._since: float | None = None

    @property
    def seconds(self) -> float | None:
        """Wall time inside the call so far; None if it was never entered."""
        if (since := self._since) is None:
            return self._spent
        return (self._spent or 0.0) + perf_counter() - since

    def __enter__(self) -> None:
        self._since = perf_counter()

    def __exit__(self, *_error: object) -> None:
        now = perf_counter()
        if self._since is not None:
            self._spent = (self._spent or 0.0) + now - self._since
            self._since = None
