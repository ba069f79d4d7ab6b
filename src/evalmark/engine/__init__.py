"""Runs trials: answers, judges, records; knows only roles."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .line import Answered, Conversation, Engine, Item, Limits, Outcome, Said, Work, anew, run_trials
    from .recorder import Recorder, Watch
    from .trial import answer, describe, details_of, judge, with_tools

__all__ = [
    "Answered",
    "Conversation",
    "Engine",
    "Item",
    "Limits",
    "Outcome",
    "Recorder",
    "Said",
    "Watch",
    "Work",
    "anew",
    "answer",
    "describe",
    "details_of",
    "judge",
    "run_trials",
    "with_tools",
]

__getattr__ = deferred(
    __name__,
    {
        "Answered": "line",
        "Conversation": "line",
        "Engine": "line",
        "Item": "line",
        "Limits": "line",
        "Outcome": "line",
        "Recorder": "recorder",
        "Said": "line",
        "Watch": "recorder",
        "Work": "line",
        "anew": "line",
        "answer": "trial",
        "describe": "trial",
        "details_of": "trial",
        "judge": "trial",
        "run_trials": "line",
        "with_tools": "trial",
    },
)
