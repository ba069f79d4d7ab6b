"""What a desk and its hands tell each other: plain values, so that they can cross from one process to another."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Output
from evalmark.core.values.score import Score, Trial
from evalmark.runs.engine.pipeline import AnsweredTrial, Conversation

WorkItem = Trial | AnsweredTrial | Conversation
"""What one hand does at one go; a conversation with all of its turns at hand."""


class Assign(NamedTuple):
    """To a hand: do this."""

    number: int
    item: WorkItem


class SendNow(NamedTuple):
    """To a hand: the request of this ticket may go out now."""

    ticket: int


class TicketResult(NamedTuple):
    """To a hand: what came of a ticket."""

    ticket: int
    said: Any
    """What was wanted; an error to be raised; or `ReplyDelta`."""


class ReplyDelta(NamedTuple):
    """What came of a ticket is what the hand itself has reported last, apart from these fields of a reply."""

    changes: Mapping[str, Any]


class FinishWork(NamedTuple):
    """To a hand: nothing more comes. Where `now` is true, leave out what is not begun and hurry with the rest."""

    now: bool


class CallRequested(NamedTuple):
    """From a hand: a model is to be asked, as the run asks it."""

    ticket: int
    name: str
    identity: str
    request: Request
    """With the key under which the journal keeps its call."""


class AttemptFinished(NamedTuple):
    """From a hand: what one attempt gave."""

    ticket: int
    said: Reply | Exception


class WorkerOnlyError(Exception):
    """In the place of an error that only the hand that met it can raise; its text is the error's type and text."""


class ServiceRequested(NamedTuple):
    """From a hand: something that only the desk can do."""

    ticket: int
    what: str
    """One of those that the desk offers."""
    given: tuple[Any, ...]


class TicketCancelled(NamedTuple):
    """From a hand: nobody waits for this ticket any more."""

    ticket: int


class Ready(NamedTuple):
    """From a hand: it would like to have so many items more."""

    more: int


class TrialFinished(NamedTuple):
    """From a hand: one trial of an item is over."""

    number: int
    part: int
    """Which turn of a conversation, from 0; 0 for all others."""
    output: Output
    scores: tuple[Score, ...]


class WorkerDone(NamedTuple):
    """From a hand: it has come to its end."""

    reason: str
    """Why no further call could be made, where that is what ended it; else nothing."""
    longest_block: float
    """The longest time, in seconds, that something kept its event loop to itself."""


ToWorker = Assign | SendNow | TicketResult | FinishWork
ToCoordinator = (
    CallRequested | AttemptFinished | ServiceRequested | TicketCancelled | Ready | TrialFinished | WorkerDone
)
