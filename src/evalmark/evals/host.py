"""Who runs the test in which something is expected; without one, an expectation stands for itself."""

from contextvars import ContextVar
from typing import Any, Protocol

from evalmark.api import Loop, Session
from evalmark.values import Case, Run, Trial

from .thresholds import Threshold


class Host(Protocol):
    """What runs tests and keeps what they find; one for all tests of a process."""

    @property
    def session(self) -> Session:
        """Asks targets and scorers."""
        ...

    @property
    def loop(self) -> Loop:
        """On which the models are asked."""
        ...

    @property
    def threshold(self) -> Threshold:
        """What the running test holds its scores to, where an expectation does not say."""
        ...

    def begin(self) -> None:
        """Leave the test here when evals are not to run."""
        ...

    def trial(self, case: Case) -> Trial:
        """Where the next case of the running test stands in the run."""
        ...

    def keep(self, part: Run) -> None:
        """Take what was found."""
        ...


# Set once, when tests begin: loops and threads that copy a context find it, whichever test they serve.
HOST: ContextVar[Any] = ContextVar("evalmark_host", default=None)
"""The host of this process; None outside of tests."""
