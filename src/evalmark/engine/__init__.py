"""Runs trials: answers, judges, records; knows only roles."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .line import Limits, Outcome, Watch, Work, run_trials
    from .trial import answer, describe, judge

__all__ = [
    "Limits",
    "Outcome",
    "Watch",
    "Work",
    "answer",
    "describe",
    "judge",
    "run_trials",
]

__getattr__ = deferred(
    __name__,
    {
        "Limits": "line",
        "Outcome": "line",
        "Watch": "line",
        "Work": "line",
        "answer": "trial",
        "describe": "trial",
        "judge": "trial",
        "run_trials": "line",
    },
)
