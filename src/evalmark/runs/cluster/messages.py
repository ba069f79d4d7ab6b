"""Messages between the coordinator and its workers: plain values that can be sent to another process."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Output
from evalmark.core.values.score import Score, Trial
from evalmark.runs.engine.work import AnsweredTrial, Conversation

WorkItem = Trial | AnsweredTrial | Conversation
"""One unit of work for a worker: a trial, or a conversation with all its turns."""


class Assign(NamedTuple):
    """To a worker: run this item."""

    number: int
    item: WorkItem


class SendNow(NamedTuple):
    """To a worker: send the request of this ticket now."""

    ticket: int


class TicketResult(NamedTuple):
    """To a worker: the result of a ticket."""

    ticket: int
    value: Any
    """The value; or an error to raise, or a `ReplyDelta`."""


class ReplyDelta(NamedTuple):
    """The result of a ticket is the reply that the worker reported last, with these fields changed."""

    changes: Mapping[str, Any]


class FinishWork(NamedTuple):
    """To a worker: no more items follow. With `now`, drop the items that have not started and finish the others soon."""

    now: bool


class CallRequested(NamedTuple):
    """From a worker: a model call to make with the limits, budget and call log of the run."""

    ticket: int
    name: str
    identity: str
    request: Request
    """With its key in the call log."""


class AttemptFinished(NamedTuple):
    """From a worker: the outcome of one attempt of a model call."""

    ticket: int
    value: Reply | Exception


class WorkerOnlyError(Exception):
    """Replaces an error that cannot be sent to another process; the text holds its type and message."""


class ServiceRequested(NamedTuple):
    """From a worker: a request for a service of the coordinator."""

    ticket: int
    service: str
    """The name of a service of `SharedServices`."""
    arguments: tuple[Any, ...]


class TicketCancelled(NamedTuple):
    """From a worker: the ticket is cancelled."""

    ticket: int


class Ready(NamedTuple):
    """From a worker: it can start this many more items."""

    more: int


class TrialFinished(NamedTuple):
    """From a worker: one trial of an item has finished."""

    number: int
    part: int
    """The index of the turn in a conversation; 0 for single trials."""
    output: Output
    scores: tuple[Score, ...]


class WorkerDone(NamedTuple):
    """From a worker: it has finished."""

    reason: str
    """Why no further call was possible, if that stopped the worker; otherwise empty."""
    longest_block: float
    """The longest time in seconds that its event loop was blocked."""


ToWorker = Assign | SendNow | TicketResult | FinishWork
ToCoordinator = (
    CallRequested | AttemptFinished | ServiceRequested | TicketCancelled | Ready | TrialFinished | WorkerDone
)
