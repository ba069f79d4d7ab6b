"""Which call of its trial a request is: what keeps a repeat from collapsing into its twin."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Uses:
    """Counts, within one trial, how often each request has been made."""

    def __init__(self, repeat: int = 0) -> None:
        self.repeat = repeat
        """Which repeat of its case the trial is, from 0."""
        self._made: Counter[str] = Counter()

    def next(self, request: str) -> int:
        """How often the same request was made to the same model before, from 0."""
        before = self._made[request]
        self._made[request] += 1
        return before


# Calls are made deep inside targets and scorers that know nothing of trials, each in a task of its own.
_CURRENT: ContextVar[Uses | None] = ContextVar("evalmark_uses", default=None)


def current_uses() -> Uses:
    """The count of the trial that is under way here; a fresh one outside of trials."""
    return _CURRENT.get() or Uses()


@contextmanager
def counting(uses: Uses) -> Iterator[None]:
    """Let the calls made inside, and in tasks and threads started there, count as this trial's."""
    token = _CURRENT.set(uses)
    try:
        yield
    finally:
        _CURRENT.reset(token)
