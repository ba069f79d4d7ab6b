"""What the process of a run and one of its workers tell each other: plain values, pickled on the way."""

from typing import Any, NamedTuple

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.case import Case, Output


class RunCase(NamedTuple):
    """To a worker: a target is asked a case."""

    target: str
    case: Case
    repeat: int
    conversation: int | None
    """Which conversation the case is a turn of, for targets that remember; None: no such target."""


class ParentReply(NamedTuple):
    """To a worker: what came of a ticket, or the error to raise."""

    ticket: int
    found: Any
    waited: float
    """Seconds that calls of the case have waited for their turn so far."""


class TargetsLoaded(NamedTuple):
    """From a worker: its targets are loaded; or why they are not."""

    fault: str


class CaseFinished(NamedTuple):
    """From a worker: the answer to what it was asked last."""

    output: Output
    fault: EvalmarkError | None
    """Why a call was refused, where one was."""
    is_last: bool = False
    """Whether the worker can go on no more."""


class ParentRequest(NamedTuple):
    """From a worker: something that only the process of the run does, such as a model call."""

    ticket: int
    what: str
    given: tuple[Any, ...]


class ParentRequestCancelled(NamedTuple):
    """From a worker: nobody waits for this ticket any more."""

    ticket: int
