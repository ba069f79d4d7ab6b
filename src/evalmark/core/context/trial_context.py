"""The context of the running trial: its request counts, waiting times, tools and models."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from evalmark.core.protocols import ChatModel

from .clock import Stopwatch
from .tool_replay import TrialTools

GetModel = Callable[[str], Awaitable[ChatModel]]
"""Returns the chat model with a name, wrapped in the middleware of the run."""


class TrialContext:
    """The context of one trial. It counts repeated requests, and the time that calls waited before they were sent."""

    def __init__(self, repeat: int = 0, tools: TrialTools | None = None, get_model: GetModel | None = None) -> None:
        self.repeat = repeat
        """The number of the repeat of the case, from 0."""
        self.tools = tools
        """The tool calls of the trial; None: tools are called without replay."""
        self.get_model = get_model
        """Provides models to the agent under test; None outside of runs."""
        self.has_unreplayable_call = False
        """Whether a model call of the trial would be sent again if the trial ran again."""
        self._clock: Stopwatch | None = None
        self._made: dict[str, int] = {}
        self._waited = 0.0
        self._waiting = 0
        self._since = 0.0

    def active_seconds(self, elapsed: float | None = None) -> float | None:
        """Return the seconds the target took, without the time its model calls waited; None if it was not entered.

        Args:
            elapsed: the total seconds, used if the target has no stopwatch.
        """
        spent = elapsed if self._clock is None else self._clock.seconds
        return None if spent is None else max(0.0, spent - self.waited())

    def clock(self) -> Stopwatch:
        """Return a new stopwatch for the call of the target; `active_seconds` reads it even if the call is interrupted."""
        self._clock = Stopwatch()
        return self._clock

    def count_use(self, request: str) -> int:
        """Count a request, and return how often the trial has made the same request before."""
        before = self._made.get(request, 0)
        self._made[request] = before + 1
        return before

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time inside as waiting: for the endpoint's limits, for the budget, or before a retry."""
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
        """Return the seconds during which at least one call of the trial was waiting, so far."""
        return self._waited + (asyncio.get_running_loop().time() - self._since if self._waiting else 0.0)


# Model calls are made deep inside targets and scorers, which do not know the trial, each in its own task.
_CURRENT: ContextVar[TrialContext | None] = ContextVar("evalmark_trial_context", default=None)


def current_trial_context() -> TrialContext:
    """Return the context of the running trial; a new one outside of trials."""
    return _CURRENT.get() or TrialContext()


def current_tools() -> TrialTools | None:
    """Return the tool replay of the running trial; None outside of trials, and if tools are called directly."""
    context = _CURRENT.get()
    return None if context is None else context.tools


class trial_context:  # noqa: N801  used like a function; a generator would be slower, and this is entered for each trial
    """Make a context current for all calls inside the block, also in tasks and threads that are started there."""

    __slots__ = ("_before", "_context")

    def __init__(self, context: TrialContext) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._before = _CURRENT.set(self._context)

    def __exit__(self, *_error: object) -> None:
        _CURRENT.reset(self._before)
