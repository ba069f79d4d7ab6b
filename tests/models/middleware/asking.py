"""Requests and faults for the tests of the wrappers."""

from random import Random

from evalmark import Turn
from evalmark.core.values.call import Attempt, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.errors import ModelCallError
from evalmark.models.middleware.call_config import CallConfig
from evalmark.models.middleware.meter import Meter
from evalmark.models.middleware.prices import Prices
from evalmark.models.middleware.throttle import Throttle

OPENAI = {"name": "openai/gpt-4o-mini", "identity": "openai/gpt-4o-mini@https://api.openai.com/v1"}
"""A model with a published price: 0.15 dollars a million tokens in, 0.60 out."""


def ask(text: str = "What is the capital of France?", **more) -> Request:
    return Request(messages=(Turn(role="user", content=text),), **more)


def reply(text: str = "Paris", read: int = 10, written: int = 5, **more) -> Reply:
    return Reply(text=text, usage=Usage(input_tokens=read, output_tokens=written), **more)


def fault(status: int | None = 503, *, kind="transient", after: float | None = None, seconds=0.01) -> ModelCallError:
    said = "the connection failed" if status is None else f"answered {status}"
    attempt = Attempt(seconds=seconds, error=said, status=status, body="" if status is None else f"<html>{status}")
    return ModelCallError(f"test: {said}.", fault=kind, attempts=(attempt,), retry_after=after)


def limit(after: float | None = None) -> ModelCallError:
    return fault(429, after=after)


def lost(seconds: float = 0.01) -> ModelCallError:
    return fault(None, seconds=seconds)


def closed(status: int = 401) -> ModelCallError:
    return fault(status, kind="closed")


def conditions(**given) -> CallConfig:
    usual = {"meter": Meter(), "throttle": Throttle(), "prices": Prices()}
    return CallConfig(**(usual | given))


def chance(seed: int) -> Random:
    """Draws the same numbers every time."""
    return Random(seed)  # noqa: S311
