"""All wrappers around one model, in the order in which they have to stand."""

from dataclasses import dataclass
from random import Random

from evalmark.core.protocols import CallLog, ChatModel

from .limited import LimitedModel
from .logged_model import LoggedModel, request_announcer
from .meter import Meter
from .metered import MeteredModel
from .patience import DEFAULT_RETRY_POLICY, RetryPolicy
from .priced import PricedModel
from .prices import Prices
from .replay import ReplayingModel, ReplayMode
from .retry import RetryingModel
from .throttle import Throttle


@dataclass(frozen=True, kw_only=True)
class CallConfig:
    """On which conditions a model is asked."""

    meter: Meter
    """One for the run."""
    throttle: Throttle
    """One for the endpoint, shared by all models there."""
    prices: Prices
    call_log: CallLog | None = None
    """None: no call is kept, and nothing but requests under way at the same moment is shared."""
    replay: ReplayMode = "auto"
    patience: RetryPolicy = DEFAULT_RETRY_POLICY
    chance: Random | None = None
    """Draws the waits before retries; None: one of our own."""


def wrap_model(model: ChatModel, conditions: CallConfig) -> ChatModel:
    """The model as a run asks it: replayed, journaled, metered, priced, retried and limited, from the outside in.

    A call counts against the budget only if the journal does not have it; it is kept with its cost and all its
    attempts; and each attempt waits for its turn at the gate, so the journal hears only of requests that really go out.
    """
    journal = conditions.call_log
    sent = LimitedModel(model, conditions.throttle, None if journal is None else request_announcer(journal))
    retried = RetryingModel(sent, conditions.patience, conditions.chance)
    paid = MeteredModel(PricedModel(retried, conditions.prices), conditions.meter)
    kept = paid if journal is None else LoggedModel(paid, journal, conditions.meter)
    return ReplayingModel(kept, journal, conditions.replay, conditions.meter)
