"""Who runs the test in which something is expected; without one, an expectation stands for itself."""

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
    """What runs tests and keeps what they find; one for all tests of a process."""

    @property
    def run_session(self) -> "RunSession":
        """Asks targets and scorers."""
        ...

    @property
    def loop(self) -> "BackgroundLoop":
        """On which the models are asked."""
        ...

    @property
    def threshold(self) -> "Threshold":
        """What the running test holds its scores to, where an expectation does not say."""
        ...

    @property
    def tools(self) -> "TrialTools | None":
        """What tools heed that the running test calls itself; None where they are just called."""
        ...

    def begin(self) -> None:
        """Leave the test here when evals are not to run."""
        ...

    def trial(self, case: "Case") -> "Trial":
        """Where the next case of the running test stands in the run."""
        ...

    def keep(self, part: "Run") -> None:
        """Take what was found."""
        ...


# Set once, when tests begin: loops and threads that copy a context find it, whichever test they serve.
CURRENT_SESSION: ContextVar[Callable[[], EvalSession] | None] = ContextVar("evalmark_host", default=None)
"""Gives the host of this process; None outside of tests."""


def current_session() -> EvalSession | None:
    """The host of this process, made now if nobody has asked for it yet; None outside of tests."""
    found = CURRENT_SESSION.get()
    return None if found is None else found()
