"""The running pytest, as `expect` sees it; without one, an expectation runs by itself."""

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


class PytestRun(Protocol):
    """Runs the expectations in tests and stores their results; one a process."""

    @property
    def run_session(self) -> "RunSession":
        """The run session of all tests."""
        ...

    @property
    def loop(self) -> "BackgroundLoop":
        """The event loop of model calls."""
        ...

    @property
    def threshold(self) -> "Threshold":
        """The threshold of the running test, for expectations without one."""
        ...

    @property
    def tools(self) -> "TrialTools | None":
        """Tool replay of the running test; None where tools are called as usual."""
        ...

    def begin(self) -> None:
        """Skip the running test if evals are switched off."""
        ...

    def trial(self, case: "Case") -> "Trial":
        """Return the trial of the next expectation in the running test."""
        ...

    def keep(self, part: "Run") -> None:
        """Store the result of an expectation."""
        ...


# Set once, when tests begin: loops and threads that copy a context find it, whichever test they serve.
CURRENT_PYTEST_RUN: ContextVar[Callable[[], PytestRun] | None] = ContextVar("evalmark_pytest_run", default=None)
"""Returns the pytest run of this process; None outside of tests."""


def current_pytest_run() -> PytestRun | None:
    """Return the pytest run of this process, created at the first call; None outside of tests."""
    create = CURRENT_PYTEST_RUN.get()
    return None if create is None else create()
