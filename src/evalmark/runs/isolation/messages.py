"""Messages between the process of a run and a worker process: plain values, pickled on the way."""

from typing import Any, NamedTuple

from evalmark.core.errors import EvalmarkError
from evalmark.core.values.case import Case, Output


class RunCase(NamedTuple):
    """To a worker: run a target on a case."""

    target: str
    case: Case
    repeat: int
    conversation: int | None
    """The number of the conversation with this turn, for target classes; otherwise None."""


class ParentReply(NamedTuple):
    """To a worker: the result of a ticket, or the error to raise."""

    ticket: int
    result: Any
    waited: float
    """Seconds that calls of the case have waited in queues so far."""


class TargetsLoaded(NamedTuple):
    """From a worker: its targets are loaded, or why not."""

    fault: str


class CaseFinished(NamedTuple):
    """From a worker: the output of its case."""

    output: Output
    fault: EvalmarkError | None
    """Why a call was refused, if one was."""
    is_last: bool = False
    """Whether the worker ends after this case."""


class ParentRequest(NamedTuple):
    """From a worker: a request to the process of the run, such as a model call."""

    ticket: int
    service: str
    arguments: tuple[Any, ...]


class ParentRequestCancelled(NamedTuple):
    """From a worker: the request of this ticket is cancelled."""

    ticket: int
