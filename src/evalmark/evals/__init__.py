"""Evals as tests: whole tables of cases with `describe_eval`, and single ones with `expect(...).to_eval(...)`."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .described import REGISTRY, Eval, describe_eval, evals_of
    from .expectation import Expectation, asked_once, expect
    from .factuality import check_factuality
    from .failing import EvalFailedError, failure
    from .host import HOST, Host
    from .recorder import EvalCase
    from .rows import rows_of
    from .seating import check_eval, seat_of
    from .thresholds import NOT_SAID, Threshold

__all__ = [
    "HOST",
    "NOT_SAID",
    "REGISTRY",
    "Eval",
    "EvalCase",
    "EvalFailedError",
    "Expectation",
    "Host",
    "Threshold",
    "asked_once",
    "check_eval",
    "check_factuality",
    "describe_eval",
    "evals_of",
    "expect",
    "failure",
    "rows_of",
    "seat_of",
]

__getattr__ = deferred(
    __name__,
    {
        "Eval": "described",
        "EvalCase": "recorder",
        "EvalFailedError": "failing",
        "Expectation": "expectation",
        "HOST": "host",
        "Host": "host",
        "NOT_SAID": "thresholds",
        "REGISTRY": "described",
        "Threshold": "thresholds",
        "asked_once": "expectation",
        "check_eval": "seating",
        "check_factuality": "factuality",
        "describe_eval": "described",
        "evals_of": "described",
        "expect": "expectation",
        "failure": "failing",
        "rows_of": "rows",
        "seat_of": "seating",
    },
)
