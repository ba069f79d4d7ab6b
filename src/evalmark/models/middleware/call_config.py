"""Put all wrappers around a model, in the right order."""

from dataclasses import dataclass
from random import Random

from evalmark.core.protocols import CallLog, ChatModel

from .logged_model import LoggedModel, request_announcer
from .meter import Meter, MeteredModel
from .prices import PricedModel, Prices
from .rate_limits import DEFAULT_RETRY_POLICY, RetryPolicy
from .replay import ReplayingModel, ReplayMode
from .retry import RetryingModel
from .throttle import LimitedModel, Throttle


@dataclass(frozen=True, kw_only=True)
class CallConfig:
    """What the wrappers around a model need."""

    meter: Meter
    """Shared by all models of the run."""
    throttle: Throttle
    """Shared by all models of the endpoint."""
    prices: Prices
    call_log: CallLog | None = None
    """None: calls are not logged, and only identical requests in flight at the same time share a reply."""
    replay: ReplayMode = "auto"
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY
    random: Random | None = None
    """Random source for the waits before retries; None: a new one."""


def wrap_model(model: ChatModel, config: CallConfig) -> ChatModel:
    """Wrap a model, from the outside in, with replay, call log, meter, prices, retries and rate limits.

    So a cached reply costs nothing; a call is logged with its cost and all its attempts; each attempt waits for the rate
    limits; and the call log notes only requests that are really sent.
    """
    call_log = config.call_log
    sent = LimitedModel(model, config.throttle, None if call_log is None else request_announcer(call_log))
    retried = RetryingModel(sent, config.retry_policy, config.random)
    paid = MeteredModel(PricedModel(retried, config.prices), config.meter)
    logged = paid if call_log is None else LoggedModel(paid, call_log, config.meter)
    return ReplayingModel(logged, call_log, config.replay, config.meter)
