"""All wrappers around one model, in the order in which they have to stand."""

from dataclasses import dataclass
from random import Random

from evalmark.core.protocols import CallLog, ChatModel

from .journaled import Journaled, announcing
from .limited import Limited
from .meter import Meter
from .metered import Metered
from .patience import PATIENT, Patience
from .priced import Priced
from .prices import Prices
from .replayed import Replayed, ReplayMode
from .retrying import Retrying
from .throttle import Throttle


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """On which conditions a model is asked."""

    meter: Meter
    """One for the run."""
    throttle: Throttle
    """One for the endpoint, shared by all models there."""
    prices: Prices
    call_log: CallLog | None = None
    """None: no call is kept, and nothing but requests under way at the same moment is shared."""
    replay: ReplayMode = "auto"
    patience: Patience = PATIENT
    chance: Random | None = None
    """Draws the waits before retries; None: one of our own."""


def through(model: ChatModel, conditions: Conditions) -> ChatModel:
    """The model as a run asks it: replayed, journaled, metered, priced, retried and limited, from the outside in.

    A call counts against the budget only if the journal does not have it; it is kept with its cost and all its
    attempts; and each attempt waits for its turn at the gate, so the journal hears only of requests that really go out.
    """
    journal = conditions.call_log
    sent = Limited(model, conditions.throttle, None if journal is None else announcing(journal))
    retried = Retrying(sent, conditions.patience, conditions.chance)
    paid = Metered(Priced(retried, conditions.prices), conditions.meter)
    kept = paid if journal is None else Journaled(paid, journal, conditions.meter)
    return Replayed(kept, journal, conditions.replay, conditions.meter)
