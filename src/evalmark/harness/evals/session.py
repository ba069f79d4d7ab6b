"""The test session that collects `expect` results; outside a session, an expectation runs on its own."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evalmark.core.context.tool_replay import TrialTools
    from evalmark.core.sync import BackgroundLoop
    from evalmark.core.values.case import Case
    from evalmark.core.values.run import Run
    from evalmark.core.values.score import Trial
    from evalmark.runs.session.run_session import RunSession

    from .thresholds import Threshold


class EvalSession(Protocol):
    """Runs the expectations of tests and keeps their results; one a process."""

    @property
    def run_session(self) -> "RunSession":
        """The run session of all tests."""
        ...

    @property
    def loop(self) -> "BackgroundLoop":
        """The event loop on which models are asked."""
        ...

    @property
    def threshold(self) -> "Threshold":
        """The threshold of the running test, for expectations without one."""
        ...

    @property
    def tools(self) -> "TrialTools | None":
        """Tool replay of the running test; None where tools are just called."""
        ...

    def begin(self) -> None:
        """Skip the running test if evals are switched off."""
        ...

    def trial(self, case: "Case") -> "Trial":
        """Return the trial of the next expectation in the running test."""
        ...

    def keep(self, part: "Run") -> None:
        """Keep the result of an expectation."""
        ...


# Set once, when tests begin: loops and threads that copy a context find it, whichever test they serve.
CURRENT_SESSION: ContextVar[Callable[[], EvalSession] | None] = ContextVar("evalmark_host", default=None)
"""Gives the host of this process; None outside of tests."""


def current_session() -> EvalSession | None:
    """Return the session of this process, created at the first call; None outside of tests."""
    found = CURRENT_SESSION.get()
    return None if found is None else found()
