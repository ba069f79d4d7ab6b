"""What a trial knows of its calls: which one a request is, how long they had to wait, what its tools may do, who is asked."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from evalmark.core.protocols import ChatModel

from .clock import Stopwatch
from .tool_replay import TrialTools

GetModel = Callable[[str], Awaitable[ChatModel]]
"""Gives a chat model by its name, as the run asks it."""


class TrialContext:
    """Counts, within one trial, how often each request has been made and how long calls waited before they went out."""

    def __init__(self, repeat: int = 0, tools: TrialTools | None = None, get_model: GetModel | None = None) -> None:
        self.repeat = repeat
        """Which repeat of its case the trial is, from 0."""
        self.tools = tools
        """What the tools of the agent under test may do; None where they are just called."""
        self.get_model = get_model
        """Where the agent under test gets its models; None outside of runs."""
        self._clock: Stopwatch | None = None
        self._made: dict[str, int] = {}
        self._waited = 0.0
        self._waiting = 0
        self._since = 0.0

    def active_seconds(self, elapsed: float | None = None) -> float | None:
        """Seconds that the target itself took, without those in which its model calls waited for their turn.

        None where it was not entered; `elapsed` counts where it has no clock.
        """
        spent = elapsed if self._clock is None else self._clock.seconds
        return None if spent is None else max(0.0, spent - self.waited())

    def clock(self) -> Stopwatch:
        """A new clock for the call of the target, which `own_time` reads should the call break off."""
        self._clock = Stopwatch()
        return self._clock

    def next(self, request: str) -> int:
        """How often the same request was made to the same model before, from 0."""
        before = self._made.get(request, 0)
        self._made[request] = before + 1
        return before

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A call waits for its turn: at the gate of its endpoint, for its budget, or before it is sent again."""
        clock = asyncio.get_running_loop().time
        if not self._waiting:
            self._since = clock()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._waited += clock() - self._since

    def waited(self) -> float:
        """Seconds in which at least one call of the trial waited for its turn, up to now."""
        return self._waited + (asyncio.get_running_loop().time() - self._since if self._waiting else 0.0)


# Calls are made deep inside targets and scorers that know nothing of trials, each in a task of its own.
_CURRENT: ContextVar[TrialContext | None] = ContextVar("evalmark_uses", default=None)


def current_trial_context() -> TrialContext:
    """The count of the trial that is under way here; a fresh one outside of trials."""
    return _CURRENT.get() or TrialContext()


def current_tools() -> TrialTools | None:
    """What tools have to heed here; None outside of trials, and where they are just called."""
    uses = _CURRENT.get()
    return None if uses is None else uses.tools


class trial_context:  # noqa: N801  used as a verb; entered for each trial, where a generator would take longer
    """Let the calls made inside, and in tasks and threads started there, count as this trial's."""

    __slots__ = ("_before", "_uses")

    def __init__(self, uses: TrialContext) -> None:
        self._uses = uses

    def __enter__(self) -> None:
        self._before = _CURRENT.set(self._uses)

    def __exit__(self, *_error: object) -> None:
        _CURRENT.reset(self._before)
